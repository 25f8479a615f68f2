//===- Normalization.cpp - Import of norms, softmax and dropout -----------===//

#include "compiler/Import/Ops/Layers/Dropout.h"
#include "compiler/Import/Ops/Math/Power.h"

using namespace mlir;
using namespace mpc;

/// Broadcasts a scale or bias to the normalized shape, if necessary.
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

/// Removes the dimensions from `axis` on from a statistic; ONNX keeps them with
/// extent 1.
static Value withoutOnes(ImportedNode &node, Value statistic,
                         ArrayRef<int64_t> shape, int64_t axis) {
  if (node.failed())
    return nullptr;
  if (product(shapeOf(statistic)) == product(shape.take_front(axis)))
    return node.reshape(statistic, shape.take_front(axis));
  node.shapeError() << "a statistic must have one element for each row from "
                       "dimension "
                    << axis << " on";
  return nullptr;
}

/// The inverse: adds dimensions of extent 1.
static Value withOnes(ImportedNode &node, Value statistic, int64_t rank) {
  SmallVector<int64_t> shape(shapeOf(statistic));
  shape.resize(rank, 1);
  return node.reshape(statistic, shape);
}

static LogicalResult importLayerNorm(ImportedNode &node) {
  Value input = node.floatInput(0), scale = node.floatInput(1);
  Value bias = node.hasInput(2) ? node.floatInput(2) : Value();
  int64_t axis = node.intAttr("axis", -1);
  double epsilon = node.floatAttr("epsilon", 1e-5);
  if (node.intAttr("stash_type", 1) != 1)
    node.error() << Fault::BadAttribute
                 << "attribute 'stash_type' must be 1: statistics are float32";
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
  for (unsigned i : {1, 2})
    if (node.isOutputUsed(i) &&
        failed(node.setOutput(
            i, withOnes(node, op->getResult(i), shapeOf(input).size()))))
      return failure();
  return success();
}

/// Sets the used outputs to the results of an op.
static LogicalResult setResults(ImportedNode &node, Operation *op) {
  if (!op)
    return failure();
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    if (node.isOutputUsed(i) && failed(node.setOutput(i, result)))
      return failure();
  return success();
}

/// Inputs dY, X, the scale and the statistics of the forward op (one for RMS
/// norm).
template <typename OpTy, unsigned numStatistics>
static LogicalResult importRowNormGrad(ImportedNode &node) {
  SmallVector<Value> operands;
  for (unsigned i = 0; i < 3; ++i)
    operands.push_back(node.floatInput(i));
  int64_t axis = node.intAttr("axis", -1);
  for (StringRef ofForward : {"epsilon", "stash_type"})
    node.hasAttr(ofForward); // Not needed: the statistics are inputs.
  if (node.failed())
    return failure();
  ArrayRef<int64_t> shape = shapeOf(operands[1]);
  axis = node.normalizeAxis(axis, shape.size(), "attribute 'axis'");
  for (unsigned i = 3; i < 3 + numStatistics; ++i)
    operands.push_back(withoutOnes(node, node.floatInput(i), shape, axis));
  return setResults(node, node.emitOp<OpTy>(operands, node.i64("axis", axis)));
}

static constexpr auto importLayerNormGrad =
    importRowNormGrad<train::LayerNormGradOp, 2>;
static constexpr auto importRmsNormGrad =
    importRowNormGrad<train::RmsNormGradOp, 1>;

static LogicalResult importRmsNorm(ImportedNode &node) {
  Value input = node.floatInput(0), scale = node.floatInput(1);
  int64_t axis = node.intAttr("axis", -1);
  double epsilon = node.floatAttr("epsilon", 1e-5);
  if (node.intAttr("stash_type", 1) != 1)
    node.error() << Fault::BadAttribute
                 << "attribute 'stash_type' must be 1: sums are float32";
  if (node.failed())
    return failure();
  ArrayRef<int64_t> shape = shapeOf(input);
  axis = node.normalizeAxis(axis, shape.size(), "attribute 'axis'");
  SmallVector<Value> operands = {
      input, broadcastTo(node, scale, shape.drop_front(axis), "scale")};
  Operation *op = node.emitOp<train::RmsNormOp>(
      operands, {node.i64("axis", axis), node.f32("epsilon", epsilon)});
  if (!op || failed(node.setOutput(0, op->getResult(0))))
    return failure();
  if (!node.isOutputUsed(1))
    return success();
  return node.setOutput(
      1, withOnes(node, op->getResult(1), shapeOf(input).size()));
}

/// Imports a norm without running statistics as elementary ops: with statistics
/// of the batch in training form, or with statistics that the model computes.
static LogicalResult importNormOfData(ImportedNode &node, bool isTraining,
                                      double epsilon) {
  Value input = node.floatInput(0);
  if (node.failed())
    return failure();
  int64_t rank = shapeOf(input).size();
  SmallVector<int64_t> axes, perChannel(rank, 1);
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != 1)
      axes.push_back(dim);
  perChannel[1] = shapeOf(input)[1];
  auto channels = [&](unsigned i) {
    return node.reshape(node.floatInput(i), perChannel);
  };
  auto mean = [&](Value value) {
    return node.emit<train::ReduceMeanOp>(
        value, {node.i64s("axes", axes), node.flag("keepdims")});
  };
  Value centre = isTraining ? mean(input) : channels(3);
  Value centred = node.emit<train::SubOp>({input, centre});
  Value variance = isTraining
                       ? mean(node.emit<train::MulOp>({centred, centred}))
                       : channels(4);
  Value deviation = node.emit<train::SqrtOp>(
      node.emit<train::AddOp>({variance, node.scalar(epsilon)}));
  Value normal = node.emit<train::DivOp>({centred, deviation});
  Value scaled = node.emit<train::MulOp>({normal, channels(1)});
  return node.setOutput(0, node.emit<train::AddOp>({scaled, channels(2)}));
}

/// The attributes of a batch norm. If it `usesBatch`, that may be the batch of
/// all ranks.
static SmallVector<NamedAttribute> normAttributes(ImportedNode &node,
                                                  ArrayRef<NamedAttribute> own,
                                                  bool usesBatch = true) {
  SmallVector<NamedAttribute> attributes(own);
  if (usesBatch && node.graph.syncsNorm())
    attributes.push_back(node.flag("synchronized"));
  return attributes;
}

/// Imports a norm of an own step exactly as in the file. Running statistics and
/// their new values are ordinary values.
static LogicalResult importExactNorm(ImportedNode &node, bool isTraining,
                                     double epsilon, double momentum) {
  SmallVector<Value> operands;
  for (unsigned i = 0; i < 5; ++i)
    operands.push_back(node.floatInput(i));
  if (node.failed())
    return failure();
  auto frozen = [&](Value value) {
    auto read = value.getDefiningOp<train::ReadOp>();
    return value.getDefiningOp<train::ConstantOp>() ||
           (read && !node.graph.isState(read.getState()));
  };
  bool isExact = node.graph.form == GraphImporter::Form::Exact;
  NamedAttribute axis = node.i64("axis", 1), eps = node.f32("epsilon", epsilon);
  if (isExact && isTraining) {
    Operation *op = node.emitOp<train::BatchNormTrainingOp>(
        ArrayRef(operands).take_front(3), normAttributes(node, {eps, axis}));
    if (!op || failed(node.setOutput(0, op->getResult(0))))
      return failure();
    for (unsigned i : {1, 2}) {
      if (!node.isOutputUsed(i))
        continue;
      Value kept =
          node.emit<train::MulOp>({operands[i + 2], node.scalar(momentum)});
      Value added = node.emit<train::MulOp>(
          {op->getResult(i), node.scalar(1 - momentum)});
      if (failed(node.setOutput(i, node.emit<train::AddOp>({kept, added}))))
        return failure();
    }
    return success();
  }
  for (unsigned i : {1, 2})
    node.refuseOutput(i, "is used, but the op normalizes by the running "
                         "statistics without changing them");
  // The statistics of a batch_norm op would be treated as states that training
  // updates.
  if (isExact && !(frozen(operands[3]) && frozen(operands[4])))
    return importNormOfData(node, /*isTraining=*/false, epsilon);
  return node.setOutput(
      0, node.emit<train::BatchNormOp>(
             operands, {eps, node.f32("momentum", momentum), axis}));
}

/// Imports the inference form in any mode: training replaces it with its own
/// form, and updates the states of the running statistics. Frozen statistics
/// are constants.
static LogicalResult importBatchNorm(ImportedNode &node) {
  Value input = node.floatInput(0), scale = node.floatInput(1);
  Value bias = node.floatInput(2);
  double epsilon = node.floatAttr("epsilon", 1e-5);
  double momentum = node.floatAttr("momentum", 0.9);
  bool isTraining =
      node.graph.opset >= 14 && node.boolAttr("training_mode", false);
  if (node.graph.form != GraphImporter::Form::Either)
    return importExactNorm(node, isTraining, epsilon, momentum);
  for (unsigned i : {1, 2, 3, 4})
    node.refuseOutput(i, "is used; running statistics are kept as states and "
                         "cannot be read by the graph");
  if (node.failed())
    return failure();
  if (shapeOf(input).size() < 2)
    return node.shapeError() << "input 0 must have at least two dimensions";
  bool keepsNone = node.isComputed(3) && node.isComputed(4);
  bool frozen = !keepsNone && node.freezesStatistics(scale, bias);
  auto statistic = [&](unsigned i) {
    return keepsNone ? node.floatInput(i) : node.statisticInput(i, frozen);
  };
  Value mean = statistic(3), variance = statistic(4);
  if (node.failed())
    return failure();
  int64_t channels = shapeOf(input)[1];
  for (Value value : {scale, bias, mean, variance})
    if (shapeOf(value) != ArrayRef<int64_t>(channels))
      return node.shapeError()
             << "scale, bias, mean and variance must have "
             << "one element for each of the " << channels << " channels";
  if (keepsNone) {
    if (isTraining)
      node.graph.noteUnsyncedNorm();
    return importNormOfData(node, isTraining, epsilon);
  }
  return node.setOutput(0, node.emit<train::BatchNormOp>(
                               {input, scale, bias, mean, variance},
                               normAttributes(node,
                                              {node.f32("epsilon", epsilon),
                                               node.f32("momentum", momentum),
                                               node.i64("axis", 1)},
                                              /*usesBatch=*/!frozen)));
}

/// Inputs X, scale, bias and the running statistics, whose new values are
/// outputs 1 and 2; outputs 3 and 4 are the statistics for the gradient.
static LogicalResult importBatchNormInternal(ImportedNode &node) {
  SmallVector<Value> inputs;
  for (unsigned i = 0; i < 3; ++i)
    inputs.push_back(node.floatInput(i));
  double momentum = node.floatAttr("momentum", 0.9);
  double epsilon = node.floatAttr("epsilon", 1e-5);
  if (!node.boolAttr("training_mode", true))
    node.error()
        << Fault::BadAttribute
        << "attribute 'training_mode' must be 1: this is the training op";
  if (node.failed())
    return failure();
  if (shapeOf(inputs[0]).size() < 2)
    return node.shapeError() << "input 0 must have at least two dimensions";
  Operation *norm = node.emitOp<train::BatchNormTrainingOp>(
      inputs, normAttributes(
                  node, {node.f32("epsilon", epsilon), node.i64("axis", 1)}));
  if (!norm || failed(node.setOutput(0, norm->getResult(0))))
    return failure();
  for (unsigned i : {1, 2}) {
    if (!node.isOutputUsed(i))
      continue;
    Value batch = norm->getResult(i), running = node.floatInput(2 + i);
    if (node.failed())
      return failure();
    if (running.getType() != batch.getType())
      return node.shapeError()
             << "the running statistics must be " << typeText(batch.getType());
    Value old = node.emit<train::MulOp>({running, node.scalar(momentum)});
    Value now = node.emit<train::MulOp>({batch, node.scalar(1 - momentum)});
    if (failed(node.setOutput(i, node.emit<train::AddOp>({old, now}))))
      return failure();
  }
  for (auto [i, result] : {std::pair(3, 1), std::pair(4, 3)})
    if (node.isOutputUsed(i) &&
        failed(node.setOutput(i, norm->getResult(result))))
      return failure();
  return success();
}

/// Inputs dY, X, the scale, the mean of the batch and its inverse standard
/// deviation.
static LogicalResult importBatchNormGrad(ImportedNode &node) {
  SmallVector<Value> operands;
  for (unsigned i = 0; i < 5; ++i)
    operands.push_back(node.floatInput(i));
  for (StringRef ofForward : {"epsilon", "momentum", "training_mode"})
    node.hasAttr(ofForward); // Not needed: the statistics are inputs.
  return setResults(node,
                    node.emitOp<train::BatchNormGradOp>(
                        operands, normAttributes(node, node.i64("axis", 1))));
}

/// Splits `value` into `rows` and normalizes each to mean 0 and variance 1.
static Value standardize(ImportedNode &node, Value value,
                         ArrayRef<int64_t> rows, double epsilon) {
  int64_t length = ShapedType::getNumElements(shapeOf(value)) /
                   ShapedType::getNumElements(rows);
  SmallVector<int64_t> shape(rows);
  shape.push_back(length);
  Value parted = node.reshape(value, shape);
  auto repeated = [&](double number) {
    return node.broadcast(node.scalar(number), length);
  };
  int64_t axis = rows.size();
  Value result = node.emit<train::LayerNormOp>(
      {parted, repeated(1), repeated(0)},
      {node.i64("axis", axis), node.f32("epsilon", epsilon)});
  return node.reshape(result, shapeOf(value));
}

/// scale value + bias, where scale and bias have one number per channel or per
/// group of adjacent channels.
static Value scaleChannels(ImportedNode &node, Value value, Value scale,
                           Value bias) {
  SmallVector<int64_t> shape(shapeOf(value)), parted, ones;
  int64_t count = shapeOf(scale)[0];
  parted = {shape[0], count, shape[1] / count};
  parted.append(shape.begin() + 2, shape.end());
  ones.assign(parted.size(), 1);
  ones[1] = count;
  value = node.reshape(value, parted);
  value = node.emit<train::MulOp>({value, node.reshape(scale, ones)});
  value = node.emit<train::AddOp>({value, node.reshape(bias, ones)});
  return node.reshape(value, shape);
}

/// Checks that scale and bias have `count` numbers each.
static bool haveCount(ImportedNode &node, Value input, Value scale, Value bias,
                      int64_t count) {
  if (node.failed())
    return false;
  if (shapeOf(input).size() >= 3 && shapeOf(scale) == ArrayRef(count) &&
      shapeOf(bias) == ArrayRef(count))
    return true;
  node.shapeError() << "takes an image, and scale and bias of " << count
                    << " numbers each";
  return false;
}

static LogicalResult importInstanceNorm(ImportedNode &node) {
  Value input = node.floatInput(0), scale = node.floatInput(1);
  Value bias = node.floatInput(2);
  double epsilon = node.floatAttr("epsilon", 1e-5);
  if (node.failed())
    return failure();
  ArrayRef<int64_t> shape = shapeOf(input);
  if (!haveCount(node, input, scale, bias, shape.size() > 1 ? shape[1] : 0))
    return failure();
  Value rows = standardize(node, input, shape.take_front(2), epsilon);
  return node.setOutput(0,
                        rows ? scaleChannels(node, rows, scale, bias) : rows);
}

/// Before opset 21 scale and bias have one number per group.
static LogicalResult importGroupNorm(ImportedNode &node) {
  Value input = node.floatInput(0), scale = node.floatInput(1);
  Value bias = node.floatInput(2);
  int64_t groups = node.intAttr("num_groups", 0);
  double epsilon = node.floatAttr("epsilon", 1e-5);
  node.intAttr("stash_type", 1);
  if (node.failed())
    return failure();
  ArrayRef<int64_t> shape = shapeOf(input);
  int64_t channels = shape.size() > 1 ? shape[1] : 0;
  if (groups < 1 || channels % groups != 0)
    return node.shapeError()
           << "attribute 'num_groups' is " << groups
           << ", which does not divide the " << channels << " channels";
  if (!haveCount(node, input, scale, bias,
                 node.graph.opset < 21 ? groups : channels))
    return failure();
  Value rows = standardize(node, input, {shape[0], groups}, epsilon);
  return node.setOutput(0,
                        rows ? scaleChannels(node, rows, scale, bias) : rows);
}

/// x / (bias + alpha / size * sum of squares of neighbouring channels)^beta
static LogicalResult importLrn(ImportedNode &node) {
  Value input = node.floatInput(0);
  int64_t size = node.intAttr("size", 0);
  double alpha = node.floatAttr("alpha", 1e-4);
  double beta = node.floatAttr("beta", 0.75), bias = node.floatAttr("bias", 1);
  if (node.failed())
    return failure();
  ArrayRef<int64_t> shape = shapeOf(input);
  if (shape.size() < 3 || size < 1 || size > 4096)
    return node.shapeError()
           << "takes an image and a 'size' from 1 to 4096, but that is "
           << size;
  if (!node.fitsConstant({shape[1], size}))
    return failure();
  SmallVector<int64_t> places =
      node.makeIndexList(shape[1] * size, [&](int64_t at) {
        int64_t place = at / size - (size - 1) / 2 + at % size;
        return place < shape[1] ? std::max<int64_t>(place, -1) : -1;
      });
  Value squares = node.emit<train::MulOp>({input, input});
  Value sums = node.emit<train::ResampleOp>(
      {squares, node.integers(places, {shape[1], size})}, node.i64("axis", 1));
  Value base = node.emit<train::MulOp>({sums, node.scalar(alpha / size)});
  base = node.emit<train::AddOp>({base, node.scalar(bias)});
  return node.setOutput(
      0, node.emit<train::DivOp>({input, emitPower(node, base, beta)}));
}

/// x divided by its norm along an axis; 0 where the norm is 0.
static LogicalResult importLpNorm(ImportedNode &node) {
  Value input = node.floatInput(0);
  int64_t axis = node.intAttr("axis", -1), p = node.intAttr("p", 2);
  if (!node.failed() && p != 1 && p != 2)
    return node.error() << Fault::BadAttribute
                        << "attribute 'p' must be 1 or 2, but is " << p;
  if (node.failed())
    return failure();
  axis = node.normalizeAxis(axis, shapeOf(input).size(), "attribute 'axis'");
  Value terms = p == 1 ? node.emit<train::AbsOp>(input)
                       : node.emit<train::MulOp>({input, input});
  Value sum = node.emit<train::ReduceSumOp>(
      terms, {node.i64s("axes", axis), node.flag("keepdims")});
  Value isZero = node.compare(sum, node.scalar(0), train::Comparison::Equal);
  Value norm = node.emit<train::SelectOp>({isZero, node.scalar(1), sum});
  if (p == 2)
    norm = node.emit<train::SqrtOp>(norm);
  return node.setOutput(0, node.emit<train::DivOp>({input, norm}));
}

/// (x - mean) / (deviation + 1e-9), as in ONNX's definition.
static LogicalResult importMeanVariance(ImportedNode &node) {
  Value input = node.floatInput(0);
  SmallVector<int64_t> axes =
      node.intsAttr("axes").value_or(SmallVector<int64_t>{0, 2, 3});
  if (node.failed())
    return failure();
  for (int64_t &axis : axes)
    axis =
        node.normalizeAxis(axis, shapeOf(input).size(), "an entry of 'axes'");
  llvm::sort(axes);
  auto mean = [&](Value value) {
    return node.emit<train::ReduceMeanOp>(
        value, {node.i64s("axes", axes), node.flag("keepdims")});
  };
  Value centred = node.emit<train::SubOp>({input, mean(input)});
  Value variance = mean(node.emit<train::MulOp>({centred, centred}));
  Value deviation =
      node.emit<train::AddOp>({emitRoot(node, variance), node.scalar(1e-9)});
  return node.setOutput(0, node.emit<train::DivOp>({centred, deviation}));
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

ArrayRef<OpRow> mpc::normalizationOps() {
  static const OpRow rows[] = {
      // ONNX Runtime writes it in graphs of any opset.
      {"LayerNormalization", 1, 2, 3, 3, importLayerNorm},
      {"RMSNormalization", 23, 2, 2, 1, importRmsNorm},
      {"BatchNormalization", 9, 5, 5, 5, importBatchNorm},
      {"BatchNormalization", 14, 5, 5, 3, importBatchNorm},
      {"InstanceNormalization", 6, 3, 3, 1, importInstanceNorm},
      {"GroupNormalization", 18, 3, 3, 1, importGroupNorm},
      {"LRN", 13, 1, 1, 1, importLrn},
      {"LpNormalization", 1, 1, 1, 1, importLpNorm},
      {"MeanVarianceNormalization", 13, 1, 1, 1, importMeanVariance},
      {"Softmax", 13, 1, 1, 1, importSoftmax<train::SoftmaxOp>},
      {"LogSoftmax", 13, 1, 1, 1, importSoftmax<train::LogSoftmaxOp>},
      {"Dropout", 12, 1, 3, 2, importDropout},
      {"SimplifiedLayerNormalization", 1, 2, 2, 2, importRmsNorm},
      {"com.microsoft.SimplifiedLayerNormalizationGrad", 1, 4, 4, 2,
       importRmsNormGrad},
      {"com.microsoft.LayerNormalizationGrad", 1, 5, 5, 3, importLayerNormGrad},
      {"com.microsoft.BatchNormInternal", 1, 5, 5, 5, importBatchNormInternal},
      {"com.microsoft.BatchNormalizationGrad", 1, 5, 5, 3, importBatchNormGrad},
  };
  return rows;
}
