//===- MicrosoftActivation.cpp - com.microsoft functions and gradients ----===//
//
// ONNX Runtime's fused activations, softmax and dropout, and the gradients that
// its gradient builder writes for them, which become the gradient ops of train.
// Source: onnxruntime, orttraining/core/graph/training_op_defs.cc.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Graph/ImportedNode.h"
#include "compiler/Import/Ops/Layers/Dropout.h"

using namespace mlir;
using namespace mpc;

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

static Value biased(ImportedNode &node, Value input, unsigned bias) {
  return node.hasInput(bias)
             ? node.emit<train::AddOp>({input, node.floatInput(bias)})
             : input;
}

template <bool approximate>
static LogicalResult importGelu(ImportedNode &node) {
  SmallVector<NamedAttribute> attributes;
  if (approximate)
    attributes.push_back(node.flag("approximate"));
  Value input = biased(node, node.floatInput(0), 1);
  return node.setOutput(0, node.emit<train::GeluOp>(input, attributes));
}

static LogicalResult importQuickGelu(ImportedNode &node) {
  double alpha = node.floatAttr("alpha", 1.702);
  return node.setOutput(
      0, node.emit<train::SiluOp>(
             node.floatInput(0),
             node.attr("alpha", node.graph.builder.getF64FloatAttr(alpha))));
}

/// Flattens the dimensions from `axis` on, like softmax before opset 13.
static Value flattenFrom(ImportedNode &node, Value value, int64_t axis) {
  if (node.failed())
    return nullptr;
  ArrayRef<int64_t> shape = shapeOf(value);
  return node.reshape(value, {product(shape.take_front(axis)),
                              product(shape.drop_front(axis))});
}

/// The shape of the bias determines which of its dimensions are broadcast.
static LogicalResult importBiasSoftmax(ImportedNode &node) {
  Value input = node.floatInput(0);
  int64_t axis = node.intAttr("axis", 1);
  node.boolAttr("is_inner_broadcast", true);
  Value sum = node.emit<train::AddOp>({input, node.floatInput(1)});
  if (node.failed())
    return failure();
  SmallVector<int64_t> shape(shapeOf(input));
  if (shapeOf(sum) != ArrayRef<int64_t>(shape))
    return node.shapeError() << "input 1 must broadcast to input 0";
  axis = node.normalizeAxis(axis, shape.size(), "attribute 'axis'");
  Value result = node.emit<train::SoftmaxOp>(flattenFrom(node, sum, axis),
                                             node.i64("axis", 1));
  return node.setOutput(0, node.reshape(result, shape));
}

//===----------------------------------------------------------------------===//
// Gradients of activations
//===----------------------------------------------------------------------===//

/// Inputs dY and the input or output of the op.
static LogicalResult importReluGrad(ImportedNode &node) {
  return node.setOutput(0, node.emit<train::ReluGradOp>(
                               {node.floatInput(0), node.floatInput(1)}));
}

static Value functionGrad(ImportedNode &node, StringRef function,
                          ArrayRef<double> parameters) {
  OpBuilder &builder = node.graph.builder;
  return node.emit<train::FunctionGradOp>(
      {node.floatInput(0), node.floatInput(1)},
      {node.attr("function", builder.getStringAttr(function)),
       node.attr("parameters", builder.getDenseF64ArrayAttr(parameters))});
}

static LogicalResult importSigmoidGrad(ImportedNode &node) {
  return node.setOutput(0, functionGrad(node, "sigmoid", {}));
}

static LogicalResult importTanhGrad(ImportedNode &node) {
  return node.setOutput(0, functionGrad(node, "tanh", {}));
}

static LogicalResult importQuickGeluGrad(ImportedNode &node) {
  double alpha = node.floatAttr("alpha", 1.702);
  return node.setOutput(0, functionGrad(node, "silu", alpha));
}

/// Computes the gradient from the output, which has the sign of the input
/// unless the slope is negative.
static LogicalResult importLeakyReluGrad(ImportedNode &node) {
  double alpha = node.floatAttr("alpha", 0.01);
  if (alpha < 0)
    return node.error() << Fault::BadAttribute << "attribute 'alpha' is "
                        << std::to_string(alpha)
                        << "; with a negative slope the gradient cannot be "
                           "computed from the output";
  return node.setOutput(0, functionGrad(node, "leaky_relu", alpha));
}

/// ONNX Runtime writes GeluGrad for the tanh form, too, but computes the
/// gradient of the other form. The form follows from the attribute, if there is
/// one, or from the op that shares the input.
static bool isOfTanhForm(ImportedNode &node, Value input) {
  if (node.hasAttr("approximate"))
    return node.stringAttr("approximate", "none") == "tanh";
  auto isGelu = [](bool approximate) {
    return [=](Operation *user) {
      auto gelu = dyn_cast<train::GeluOp>(user);
      return gelu && gelu.getApproximate() == approximate;
    };
  };
  return input && llvm::any_of(input.getUsers(), isGelu(true)) &&
         llvm::none_of(input.getUsers(), isGelu(false));
}

static Value geluGrad(ImportedNode &node, Value input, bool approximate) {
  SmallVector<NamedAttribute> attributes;
  if (approximate)
    attributes.push_back(node.flag("approximate"));
  return node.emit<train::GeluGradOp>({node.floatInput(0), input}, attributes);
}

static LogicalResult importGeluGrad(ImportedNode &node) {
  Value input = node.floatInput(1);
  return node.setOutput(0, geluGrad(node, input, isOfTanhForm(node, input)));
}

/// Inputs dY, X and, with a bias, B.
template <bool approximate>
static LogicalResult importBiasGeluGrad(ImportedNode &node) {
  Value input = biased(node, node.floatInput(1), 2);
  return node.setOutput(0, geluGrad(node, input, approximate));
}

/// Inputs dY and Y.
template <typename OpTy, bool flattens>
static LogicalResult importSoftmaxGrad(ImportedNode &node) {
  Value grad = node.floatInput(0), output = node.floatInput(1);
  int64_t axis = node.intAttr("axis", flattens ? 1 : -1);
  if (node.failed())
    return failure();
  SmallVector<int64_t> shape(shapeOf(output));
  if (shapeOf(grad) != ArrayRef<int64_t>(shape))
    return node.shapeError() << "both inputs must have one shape";
  axis = node.normalizeAxis(axis, shape.size(), "attribute 'axis'");
  // A single dimension needs no flattening.
  if (flattens && axis + 1 < int64_t(shape.size())) {
    grad = flattenFrom(node, grad, axis);
    output = flattenFrom(node, output, axis);
    axis = 1;
  }
  Value result = node.emit<OpTy>({grad, output}, node.i64("axis", axis));
  return node.setOutput(0, node.reshape(result, shape));
}

ArrayRef<OpRow> mpc::microsoftActivationOps() {
  static const OpRow rows[] = {
      {"com.microsoft.Gelu", 1, 1, 1, 1, importGelu<false>},
      {"com.microsoft.BiasGelu", 1, 2, 2, 1, importGelu<false>},
      {"com.microsoft.FastGelu", 1, 1, 2, 1, importGelu<true>},
      {"com.microsoft.QuickGelu", 1, 1, 1, 1, importQuickGelu},
      {"com.microsoft.BiasSoftmax", 1, 2, 2, 1, importBiasSoftmax},
      {"com.microsoft.BitmaskDropout", 1, 1, 3, 2, importDropout},
      {"com.microsoft.ReluGrad", 1, 2, 2, 1, importReluGrad},
      {"com.microsoft.SigmoidGrad", 1, 2, 2, 1, importSigmoidGrad},
      {"com.microsoft.TanhGrad", 1, 2, 2, 1, importTanhGrad},
      {"com.microsoft.LeakyReluGrad", 1, 2, 2, 1, importLeakyReluGrad},
      {"com.microsoft.GeluGrad", 1, 2, 2, 1, importGeluGrad},
      {"com.microsoft.FastGeluGrad", 1, 2, 2, 1, importBiasGeluGrad<true>},
      {"com.microsoft.QuickGeluGrad", 1, 2, 2, 1, importQuickGeluGrad},
      {"com.microsoft.BiasGeluGrad_dX", 1, 3, 3, 1, importBiasGeluGrad<false>},
      {"com.microsoft.BiasFastGeluGrad_dX", 1, 3, 3, 1,
       importBiasGeluGrad<true>},
      {"com.microsoft.SoftmaxGrad", 1, 2, 2, 1,
       importSoftmaxGrad<train::SoftmaxGradOp, true>},
      {"com.microsoft.SoftmaxGrad_13", 1, 2, 2, 1,
       importSoftmaxGrad<train::SoftmaxGradOp, false>},
      {"com.microsoft.LogSoftmaxGrad", 1, 2, 2, 1,
       importSoftmaxGrad<train::LogSoftmaxGradOp, true>},
      {"com.microsoft.LogSoftmaxGrad_13", 1, 2, 2, 1,
       importSoftmaxGrad<train::LogSoftmaxGradOp, false>},
      {"com.microsoft.DropoutGrad", 1, 2, 4, 1, importDropoutGrad},
      {"com.microsoft.BitmaskDropoutGrad", 1, 2, 4, 1, importDropoutGrad},
  };
  return rows;
}
