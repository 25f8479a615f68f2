//===- Contraction.cpp - Import of matrix products ------------------------===//

#include "compiler/Import/Graph/ImportedNode.h"

using namespace mlir;
using namespace mpc;

/// alpha A' B' + beta C, where C broadcasts to the product; null after an
/// error.
static Value gemm(ImportedNode &node) {
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
    return nullptr;
  if (shapeOf(lhs).size() != 2 || shapeOf(rhs).size() != 2) {
    node.shapeError() << "inputs 0 and 1 must be matrices";
    return nullptr;
  }

  Value result = node.emit<train::MatmulOp>({lhs, rhs}, attributes);
  if (alpha != 1.0 && result)
    result = node.emit<train::MulOp>({result, node.scalar(alpha)});
  if (!addend || !result || beta == 0.0)
    return result;
  if (beta != 1.0)
    addend = node.emit<train::MulOp>({addend, node.scalar(beta)});
  Value sum = node.emit<train::AddOp>({result, addend});
  if (!sum || shapeOf(sum) == shapeOf(result))
    return sum;
  node.shapeError() << "input 2 must broadcast to the product, "
                    << typeText(result.getType());
  return nullptr;
}

static LogicalResult importGemm(ImportedNode &node) {
  return node.setOutput(0, gemm(node));
}

/// A Gemm and an activation that ONNX Runtime fused with it.
static LogicalResult importFusedGemm(ImportedNode &node) {
  std::string activation = node.stringAttr("activation", "");
  double alpha = node.floatAttr("activation_alpha", 0.01);
  node.floatAttr("activation_beta", 0);
  node.floatAttr("activation_gamma", 0);
  Value result = gemm(node);
  if (activation == "Relu")
    result = node.emit<train::ReluOp>(result);
  else if (activation == "Sigmoid")
    result = node.emit<train::SigmoidOp>(result);
  else if (activation == "Tanh")
    result = node.emit<train::TanhOp>(result);
  else if (activation == "LeakyRelu")
    result = node.emit<train::LeakyReluOp>(
        result, node.attr("alpha", node.graph.builder.getF64FloatAttr(alpha)));
  else if (!activation.empty() && !node.failed())
    return node.error() << Fault::BadAttribute << "attribute 'activation' is '"
                        << activation
                        << "'; known are Relu, Sigmoid, Tanh and LeakyRelu";
  return node.setOutput(0, result);
}

/// Vectors become matrices for the product; their extra dimension is removed
/// afterwards.
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
      {"com.microsoft.FusedGemm", 1, 2, 3, 1, importFusedGemm},
  };
  return rows;
}
