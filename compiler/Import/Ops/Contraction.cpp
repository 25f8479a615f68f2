//===- Contraction.cpp - Import of matrix products and convolution --------===//

#include "compiler/Import/Ops/Window.h"

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

static LogicalResult importConv(ImportedNode &node) {
  Value input = node.floatInput(0), weight = node.floatInput(1);
  SmallVector<Value> operands = {input, weight};
  if (node.hasInput(2))
    operands.push_back(node.floatInput(2));
  int64_t group = node.intAttr("group", 1);
  auto kernelShape = node.intsAttr("kernel_shape");
  if (node.failed())
    return failure();
  ArrayRef<int64_t> image = shapeOf(input), filter = shapeOf(weight);
  if (image.size() < 3 || image.size() > 4)
    return node.shapeError() << "input 0 has " << image.size()
                             << " dimensions; convolutions with one or two "
                                "spatial dimensions are supported";
  if (filter.size() != image.size())
    return node.shapeError()
           << "the weight must have " << image.size()
           << " dimensions like the input, but has " << filter.size();
  ArrayRef<int64_t> kernel = filter.drop_front(2);
  if (kernelShape && ArrayRef<int64_t>(*kernelShape) != kernel)
    return node.shapeError() << "attribute 'kernel_shape' does not agree with "
                                "the weight";
  if (group < 1 || group > filter[0] || filter[0] % group != 0)
    return node.shapeError() << "attribute 'group' is " << group
                             << ", which does not divide the weight's "
                             << filter[0] << " output channels";
  if (image[1] % group != 0 || image[1] / group != filter[1])
    return node.shapeError()
           << "the input has " << image[1]
           << " channels, but the weight expects " << filter[1]
           << " in each of " << group << " groups";
  auto window = readWindow(node, input, kernel, /*isPooling=*/false);
  if (!window)
    return failure();
  return node.setOutput(
      0, node.emit<train::ConvOp>(operands,
                                  {node.i64s("strides", window->strides),
                                   node.i64s("dilations", window->dilations),
                                   node.i64s("pads_begin", window->padsBegin),
                                   node.i64s("pads_end", window->padsEnd),
                                   node.i64("group", group)}));
}

ArrayRef<OpRow> mpc::contractionOps() {
  static const OpRow rows[] = {
      {"Gemm", 11, 2, 3, 1, importGemm},
      {"MatMul", 9, 2, 2, 1, importMatMul},
      {"Conv", 11, 2, 3, 1, importConv},
  };
  return rows;
}
