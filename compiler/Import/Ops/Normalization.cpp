//===- Normalization.cpp - Import of norms, softmax and dropout -----------===//

#include "compiler/Import/ImportedNode.h"

using namespace mlir;
using namespace mpc;

/// Repeats a scale or bias to the normalized shape, if it must be.
static Value broadcastTo(ImportedNode &node, Value value,
                         ArrayRef<int64_t> shape, StringRef what) {
  if (node.failed() || shapeOf(value) == shape)
    return value;
  ArrayRef<int64_t> from = shapeOf(value);
  bool fits = from.size() <= shape.size();
  for (size_t i = 0; fits && i < from.size(); ++i) {
    int64_t extent = from[from.size() - 1 - i];
    fits = extent == 1 || extent == shape[shape.size() - 1 - i];
  }
  if (!fits) {
    node.shapeError() << what << " does not broadcast to the normalized "
                      << "dimensions of input 0";
    return nullptr;
  }
  auto type = cast<RankedTensorType>(value.getType());
  return node.emitAs<train::BroadcastToOp>(type.clone(shape), value);
}

static LogicalResult importLayerNorm(ImportedNode &node) {
  Value input = node.floatInput(0), scale = node.floatInput(1);
  Value bias = node.hasInput(2) ? node.floatInput(2) : Value();
  int64_t axis = node.intAttr("axis", -1);
  double epsilon = node.floatAttr("epsilon", 1e-5);
  if (node.intAttr("stash_type", 1) != 1)
    node.error() << "attribute 'stash_type' must be 1: statistics are float32";
  if (node.failed())
    return failure();
  ArrayRef<int64_t> shape = shapeOf(input);
  axis = node.normalizeAxis(axis, shape.size(), "attribute 'axis'");
  ArrayRef<int64_t> normalized = shape.drop_front(axis);
  SmallVector<Value> operands = {input,
                                 broadcastTo(node, scale, normalized, "Scale")};
  if (bias)
    operands.push_back(broadcastTo(node, bias, normalized, "B"));
  Operation *op = node.emitOp<train::LayerNormOp>(
      operands, {node.i64("axis", axis), node.f32("epsilon", epsilon)});
  if (!op || failed(node.setOutput(0, op->getResult(0))))
    return failure();
  // ONNX keeps the normalized dimensions of mean and inverse deviation.
  SmallVector<int64_t> kept(shape.take_front(axis));
  kept.resize(shape.size(), 1);
  for (unsigned i : {1, 2})
    if (node.isOutputUsed(i) &&
        failed(node.setOutput(i, node.reshape(op->getResult(i), kept))))
      return failure();
  return success();
}

static LogicalResult importRmsNorm(ImportedNode &node) {
  Value input = node.floatInput(0), scale = node.floatInput(1);
  int64_t axis = node.intAttr("axis", -1);
  double epsilon = node.floatAttr("epsilon", 1e-5);
  if (node.intAttr("stash_type", 1) != 1)
    node.error() << "attribute 'stash_type' must be 1: sums are float32";
  if (node.failed())
    return failure();
  ArrayRef<int64_t> shape = shapeOf(input);
  axis = node.normalizeAxis(axis, shape.size(), "attribute 'axis'");
  SmallVector<Value> operands = {
      input, broadcastTo(node, scale, shape.drop_front(axis), "scale")};
  Operation *op = node.emitOp<train::RmsNormOp>(
      operands, {node.i64("axis", axis), node.f32("epsilon", epsilon)});
  return op ? node.setOutput(0, op->getResult(0)) : failure();
}

/// Inference form, whatever the model's mode: training brings its own form, and
/// the running statistics it updates are the states themselves. Frozen ones are
/// constants.
static LogicalResult importBatchNorm(ImportedNode &node) {
  Value input = node.floatInput(0), scale = node.floatInput(1);
  Value bias = node.floatInput(2);
  bool frozen = node.freezesStatistics(scale, bias);
  Value mean = node.statisticInput(3, frozen);
  Value variance = node.statisticInput(4, frozen);
  double epsilon = node.floatAttr("epsilon", 1e-5);
  double momentum = node.floatAttr("momentum", 0.9);
  if (node.graph.opset >= 14)
    node.boolAttr("training_mode", false);
  for (unsigned i : {1, 2, 3, 4})
    node.refuseOutput(i, "is used; running statistics are kept as states and "
                         "cannot be read by the graph");
  if (node.failed())
    return failure();
  if (shapeOf(input).size() < 2)
    return node.shapeError() << "input 0 must have at least two dimensions";
  int64_t channels = shapeOf(input)[1];
  for (Value value : {scale, bias, mean, variance})
    if (shapeOf(value) != ArrayRef<int64_t>(channels))
      return node.shapeError()
             << "scale, bias, mean and variance must have "
             << "one element for each of the " << channels << " channels";
  return node.setOutput(
      0, node.emit<train::BatchNormOp>({input, scale, bias, mean, variance},
                                       {node.f32("epsilon", epsilon),
                                        node.f32("momentum", momentum),
                                        node.i64("axis", 1)}));
}

template <typename OpTy>
static LogicalResult importSoftmax(ImportedNode &node) {
  Value input = node.floatInput(0);
  int64_t axis = node.intAttr("axis", -1);
  if (node.failed())
    return failure();
  axis = node.normalizeAxis(axis, shapeOf(input).size(), "attribute 'axis'");
  return node.setOutput(0, node.emit<OpTy>(input, node.i64("axis", axis)));
}

/// Also without training_mode: exporters drop it, and what the model is
/// imported for is training. Evaluation leaves the op out.
static LogicalResult importDropout(ImportedNode &node) {
  Value input = node.floatInput(0);
  double ratio = node.hasInput(1) ? node.knownScalar(1) : 0.5;
  if (node.hasInput(2))
    node.knownScalar(2);
  node.intAttr("seed", 0); // Runs are seeded as a whole.
  node.refuseOutput(1, "is used; the mask of Dropout is not supported");
  if (node.failed())
    return failure();
  if (!(ratio >= 0.0 && ratio < 1.0))
    return node.error() << "the ratio must lie in [0, 1), but is "
                        << std::to_string(ratio);
  if (ratio == 0.0)
    return node.forwardInput();
  return node.setOutput(
      0, node.emit<train::DropoutOp>(input, node.f32("ratio", ratio)));
}

ArrayRef<OpRow> mpc::normalizationOps() {
  static const OpRow rows[] = {
      {"LayerNormalization", 17, 2, 3, 3, importLayerNorm},
      {"RMSNormalization", 23, 2, 2, 1, importRmsNorm},
      {"BatchNormalization", 9, 5, 5, 5, importBatchNorm},
      {"BatchNormalization", 14, 5, 5, 3, importBatchNorm},
      {"Softmax", 13, 1, 1, 1, importSoftmax<train::SoftmaxOp>},
      {"LogSoftmax", 13, 1, 1, 1, importSoftmax<train::LogSoftmaxOp>},
      {"Dropout", 12, 1, 3, 2, importDropout},
  };
  return rows;
}
