//===- Contraction.cpp - Import of matrix products ------------------------===//

#include "compiler/Import/ImportedNode.h"

using namespace mlir;
using namespace mpc;

/// Y = alpha A' B' + beta C, where C broadcasts to the product.
static LogicalResult importGemm(ImportedNode &node) {
  Value lhs = node.floatInput(0), rhs = node.floatInput(1);
  Value addend = node.hasInput(2) ? node.floatInput(2) : Value();
  double alpha = node.floatAttr("alpha", 1.0);
  double beta = node.floatAttr("beta", 1.0);
  SmallVector<NamedAttribute> attributes;
  if (node.boolAttr("transA", false))
    attributes.push_back(node.flag("transpose_lhs"));
  if (node.boolAttr("transB", false))
    attributes.push_back(node.flag("transpose_rhs"));
  if (node.failed())
    return failure();
  if (shapeOf(lhs).size() != 2 || shapeOf(rhs).size() != 2)
    return node.shapeError() << "inputs 0 and 1 must be matrices";

  Value result = node.emit<train::MatmulOp>({lhs, rhs}, attributes);
  if (alpha != 1.0 && result)
    result = node.emit<train::MulOp>({result, node.scalar(alpha)});
  if (!addend || !result || beta == 0.0)
    return node.setOutput(0, result);
  if (beta != 1.0)
    addend = node.emit<train::MulOp>({addend, node.scalar(beta)});
  Value sum = node.emit<train::AddOp>({result, addend});
  if (sum && shapeOf(sum) != shapeOf(result))
    return node.shapeError() << "input 2 must broadcast to the product, "
                             << typeText(result.getType());
  return node.setOutput(0, sum);
}

/// Vectors become matrices for the product; their dimension goes afterwards.
static LogicalResult importMatMul(ImportedNode &node) {
  Value lhs = node.floatInput(0), rhs = node.floatInput(1);
  if (node.failed())
    return failure();
  ArrayRef<int64_t> left = shapeOf(lhs), right = shapeOf(rhs);
  if (left.empty() || right.empty())
    return node.shapeError() << "inputs must have at least one dimension";
  bool isLeftVector = left.size() == 1, isRightVector = right.size() == 1;
  if (isLeftVector)
    lhs = node.reshape(lhs, {1, left[0]});
  if (isRightVector)
    rhs = node.reshape(rhs, {right[0], 1});
  Value result = node.emit<train::MatmulOp>({lhs, rhs});
  if (!result)
    return failure();
  SmallVector<int64_t> shape(shapeOf(result));
  if (isRightVector)
    shape.pop_back();
  if (isLeftVector)
    shape.erase(shape.end() - (isRightVector ? 1 : 2));
  return node.setOutput(0, node.reshape(result, shape));
}

ArrayRef<OpRow> mpc::contractionOps() {
  static const OpRow rows[] = {
      {"Gemm", 11, 2, 3, 1, importGemm},
      {"MatMul", 9, 2, 2, 1, importMatMul},
  };
  return rows;
}
