//===- Normalization.cpp - Norms and softmax ------------------------------===//
//
// Norms compute their variance from centred values, in a second pass: the mean
// of squares minus the square of the mean cancels if the mean is large.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/Emit.h"
#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Support/Locations.h"

#include <limits>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

//===----------------------------------------------------------------------===//
// Classes, costs, reasons
//===----------------------------------------------------------------------===//

MPC_OP_FACTS(LayerNormOp, Internal, 8 * countElements(getInput()),
             "normalized values are small; sums, scale and bias in f32")
MPC_OP_FACTS(LayerNormGradOp, Internal, 16 * countElements(getInput()),
             "row sums, and the gradients of scale and bias, in f32")
MPC_OP_FACTS(BatchNormOp, Internal, 4 * countElements(getInput()),
             "normalized values are small; scale, bias, statistics in f32")
MPC_OP_FACTS(BatchNormTrainingOp, Internal, 8 * countElements(getInput()),
             "normalized values are small; sums, scale and bias in f32")
MPC_OP_FACTS(BatchNormGradOp, Internal, 12 * countElements(getInput()),
             "channel sums, and the gradients of scale and bias, in f32")
MPC_OP_FACTS(SoftmaxOp, Internal, 14 * countElements(getInput()),
             "results lie in [0, 1]; maximum, exp and sum in f32")
MPC_OP_FACTS(SoftmaxGradOp, Internal, 4 * countElements(getOutput()),
             "row sums in f32")
MPC_OP_FACTS(LogSoftmaxOp, Sensitive, 14 * countElements(getInput()),
             "feeds a loss, and 16 bits resolve its logarithms badly")
MPC_OP_FACTS(LogSoftmaxGradOp, Sensitive, 13 * countElements(getOutput()),
             "belongs to the loss")

bool LayerNormOp::isOperandPinned(unsigned index) { return index != 0; }
bool LayerNormOp::isResultPinned(unsigned index) { return index != 0; }
bool LayerNormGradOp::isOperandPinned(unsigned index) { return index > 1; }
bool LayerNormGradOp::isResultPinned(unsigned index) { return index != 0; }
bool BatchNormOp::isOperandPinned(unsigned index) { return index != 0; }
bool BatchNormOp::isResultPinned(unsigned) { return false; }
bool BatchNormTrainingOp::isOperandPinned(unsigned index) { return index != 0; }
bool BatchNormTrainingOp::isResultPinned(unsigned index) { return index != 0; }
bool BatchNormGradOp::isOperandPinned(unsigned index) { return index > 1; }
bool BatchNormGradOp::isResultPinned(unsigned index) { return index != 0; }

ErrorPropagation SoftmaxGradOp::getErrorPropagation(unsigned) {
  return ErrorPropagation::Centred;
}
ErrorPropagation LogSoftmaxGradOp::getErrorPropagation(unsigned) {
  return ErrorPropagation::Projected;
}

// The gradients of scale and bias are sums.
ErrorPropagation LayerNormGradOp::getErrorPropagation(unsigned result) {
  return result == 0 ? ErrorPropagation::Projected : ErrorPropagation::Summed;
}
ErrorPropagation BatchNormGradOp::getErrorPropagation(unsigned result) {
  return result == 0 ? ErrorPropagation::Projected : ErrorPropagation::Summed;
}

//===----------------------------------------------------------------------===//
// Common helpers of norms
//===----------------------------------------------------------------------===//

/// Statistics are not differentiated: reports an error if a gradient arrives at
/// one of the results after the first.
static LogicalResult checkResultGrads(Operation *op, ValueRange resultGrads) {
  if (llvm::any_of(resultGrads.drop_front(), [](Value grad) { return grad; }))
    return op->emitOpError("has no gradient through its statistics; only its "
                           "first result may lead to the loss");
  return success();
}

namespace {

/// The dimensions of a norm: those that a mean reduces (`reduced`), the others
/// (`kept`), and those of scale and bias (`affine`).
struct Norm {
  SmallVector<int64_t> kept, reduced, affine;
  bool isSynchronized = false; ///< Whether batches of all ranks are one.

  /// Normalizes over dimensions [axis, rank), as layer_norm does.
  static Norm ofRows(const Emitter &emit, int64_t axis) {
    SmallVector<int64_t> tail = Emitter::range(axis, emit.rank());
    return {Emitter::range(0, axis), tail, tail};
  }

  /// Normalizes over all dimensions except `axis`, as batch_norm does.
  static Norm ofChannels(const Emitter &emit, int64_t axis,
                         bool isSynchronized = false) {
    return {{axis}, emit.allBut(axis), {axis}, isSynchronized};
  }

  /// The mean over the batches of all ranks of what is a mean or a sum over
  /// that of one: they have the same size.
  Value ofAllRanks(Emitter &emit, Value ofRank) const {
    return isSynchronized ? emit.meanOverRanks(ofRank) : ofRank;
  }
};

struct Statistics {
  Value mean, variance, invStd;
};

} // namespace

/// 1 / sqrt(variance + epsilon).
static Value emitInvStd(Emitter &emit, Value variance, double epsilon) {
  return emit.combine(variance, [&](Scalars s, ValueRange v) {
    Value root = s.sqrt(s.add(v[0], s.constant(epsilon, v[0])));
    return s.div(s.constant(1, root), root);
  });
}

static Statistics emitStatistics(Emitter &emit, const Norm &norm, Value input,
                                 double epsilon) {
  double count = emit.count(norm.reduced);
  auto divide = [&](Scalars s, ValueRange v) {
    return s.div(v[0], s.constant(count, v[0]));
  };
  Value sum = emit.sum(norm.reduced, {{input, emit.all()}},
                       [](Scalars, ValueRange v) { return v[0]; });
  Value mean = norm.ofAllRanks(emit, emit.combine(sum, divide));
  Value squares =
      emit.sum(norm.reduced, {{input, emit.all()}, {mean, norm.kept}},
               [](Scalars s, ValueRange v) {
                 Value centred = s.sub(v[0], v[1]);
                 return s.mul(centred, centred);
               });
  Value variance = norm.ofAllRanks(emit, emit.combine(squares, divide));
  return {mean, variance, emitInvStd(emit, variance, epsilon)};
}

/// (input - mean) * inv_std * scale + bias; `bias` may be null.
static Value emitNormalize(Emitter &emit, const Norm &norm, Type type,
                           Value input, Value mean, Value invStd, Value scale,
                           Value bias) {
  SmallVector<Indexed> operands{{input, emit.all()},
                                {mean, norm.kept},
                                {invStd, norm.kept},
                                {scale, norm.affine}};
  if (bias)
    operands.push_back({bias, norm.affine});
  return emit.map(type, operands, [&](Scalars s, ValueRange v) {
    Value scaled = s.mul(s.mul(s.sub(v[0], v[1]), v[2]), v[3]);
    return bias ? s.add(scaled, v[4]) : scaled;
  });
}

/// The gradients of a norm. With g = grad * scale, x^ = (input - mean) *
/// inv_std and means over the reduced dimensions:
///   grad_input = inv_std * (g - mean(g) - x^ * mean(g * x^))
///   grad_scale = sum(grad * x^), grad_bias = sum(grad)
template <typename Op>
static void emitNormGradients(Op op, Emitter &emit, const Norm &norm,
                              SmallVectorImpl<Value> &results) {
  Indexed grad{op.getGrad(), emit.all()}, input{op.getInput(), emit.all()},
      scale{op.getScale(), norm.affine}, mean{op.getMean(), norm.kept},
      invStd{op.getInvStd(), norm.kept};
  auto xhat = [](Scalars s, Value input, Value mean, Value invStd) {
    return s.mul(s.sub(input, mean), invStd);
  };

  Value sum = norm.ofAllRanks(
      emit, emit.sum(norm.reduced, {grad, scale}, [](Scalars s, ValueRange v) {
        return s.mul(v[0], v[1]);
      }));
  Value product = norm.ofAllRanks(
      emit, emit.sum(norm.reduced, {grad, scale, input, mean, invStd},
                     [&](Scalars s, ValueRange v) {
                       return s.mul(s.mul(v[0], v[1]),
                                    xhat(s, v[2], v[3], v[4]));
                     }));
  double factor = 1 / emit.count(norm.reduced);
  results.push_back(
      emit.map(op.getGradInput().getType(),
               {grad,
                scale,
                input,
                mean,
                invStd,
                {sum, norm.kept},
                {product, norm.kept}},
               [&](Scalars s, ValueRange v) {
                 Value n = s.constant(factor, v[0]);
                 Value centred = s.sub(s.mul(v[0], v[1]), s.mul(v[5], n));
                 Value along = s.mul(xhat(s, v[2], v[3], v[4]), s.mul(v[6], n));
                 return s.mul(v[4], s.sub(centred, along));
               }));

  SmallVector<int64_t> others =
      llvm::to_vector(llvm::make_filter_range(emit.all(), [&](int64_t dim) {
        return !llvm::is_contained(norm.affine, dim);
      }));
  Value gradScale = emit.sum(others, {grad, input, mean, invStd},
                             [&](Scalars s, ValueRange v) {
                               return s.mul(v[0], xhat(s, v[1], v[2], v[3]));
                             });
  Value gradBias =
      emit.sum(others, {grad}, [](Scalars, ValueRange v) { return v[0]; });
  results.push_back(emit.round(gradScale, op.getGradScale().getType()));
  results.push_back(emit.round(gradBias, op.getGradBias().getType()));
}

//===----------------------------------------------------------------------===//
// LayerNormOp and LayerNormGradOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(LayerNormOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  auto axis = static_cast<int64_t>(op.getAxis());
  if (failed(checkAxis(axis, shape.size(), error))) // layer_norm_c1
    return failure();
  ArrayRef<int64_t> tail = shape.drop_front(axis);
  if (failed(
          checkShape("scale", op.getScale(), tail, error)) || // layer_norm_c2
      (op.getBias() &&
       failed(checkShape("bias", op.getBias(), tail, error)))) // layer_norm_c2
    return failure();
  Type statistic = pinnedType(shape.take_front(axis), op.getInput());
  types.assign({RankedTensorType::get(shape, elementOf(op.getInput())),
                statistic, statistic});
  return success();
}
MPC_INFER(LayerNormOp, inferTypes)

LogicalResult LayerNormOp::buildGradient(OpBuilder &builder,
                                         ValueRange resultGrads,
                                         ArrayRef<bool> needed,
                                         MutableArrayRef<Value> operandGrads) {
  if (failed(checkResultGrads(*this, resultGrads)))
    return failure();
  auto gradients = LayerNormGradOp::create(
      builder, gradientLoc(getLoc()), resultGrads[0], getInput(), getScale(),
      getMean(), getInvStd(), getAxis());
  for (auto [index, isNeeded] : llvm::enumerate(needed))
    if (isNeeded)
      operandGrads[index] = gradients.getResult(index);
  return success();
}

LogicalResult LayerNormOp::lowerToLinalg(OpBuilder &builder,
                                         SmallVectorImpl<Value> &results) {
  Emitter emit(builder, getLoc(), shapeOf(getInput()),
               getComputeType(getOperands(), getResultTypes()));
  Norm norm = Norm::ofRows(emit, getAxis());
  Statistics statistics =
      emitStatistics(emit, norm, getInput(), getEpsilon().convertToDouble());
  results.push_back(emitNormalize(emit, norm, getResult().getType(), getInput(),
                                  statistics.mean, statistics.invStd,
                                  getScale(), getBias()));
  results.push_back(emit.round(statistics.mean, getMean().getType()));
  results.push_back(emit.round(statistics.invStd, getInvStd().getType()));
  return success();
}

static LogicalResult inferTypes(LayerNormGradOp::Adaptor op,
                                const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  auto axis = static_cast<int64_t>(op.getAxis());
  if (failed(checkAxis(axis, shape.size(), error)))
    return failure();
  ArrayRef<int64_t> head = shape.take_front(axis),
                    tail = shape.drop_front(axis);
  if (failed(checkShape("grad", op.getGrad(), shape, error)) ||
      failed(checkShape("scale", op.getScale(), tail, error)) ||
      failed(checkShape("mean", op.getMean(), head, error)) ||
      failed(checkShape("inv_std", op.getInvStd(), head, error)))
    return failure(); // layer_norm_grad_c1
  Type parameter = pinnedType(tail, op.getInput());
  types.assign({RankedTensorType::get(shape, elementOf(op.getGrad())),
                parameter, parameter});
  return success();
}
MPC_INFER(LayerNormGradOp, inferTypes)

LogicalResult LayerNormGradOp::lowerToLinalg(OpBuilder &builder,
                                             SmallVectorImpl<Value> &results) {
  Emitter emit(builder, getLoc(), shapeOf(getInput()),
               getComputeType(getOperands(), getResultTypes()));
  emitNormGradients(*this, emit, Norm::ofRows(emit, getAxis()), results);
  return success();
}

//===----------------------------------------------------------------------===//
// BatchNormOp
//===----------------------------------------------------------------------===//

/// Checks the axis, and that per-channel operands have its extent.
static LogicalResult
checkChannels(ArrayRef<int64_t> shape, int64_t axis,
              ArrayRef<std::pair<StringRef, Value>> operands,
              const OpError &error) {
  if (failed(checkAxis(axis, shape.size(), error)))
    return failure();
  for (auto [name, operand] : operands)
    if (failed(checkShape(name, operand, shape[axis], error)))
      return failure();
  return success();
}

static LogicalResult inferTypes(BatchNormOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  if (failed(checkChannels(shapeOf(op.getInput()), op.getAxis(),
                           {{"scale", op.getScale()},
                            {"bias", op.getBias()},
                            {"mean", op.getMean()},
                            {"var", op.getVar()}},
                           error))) // batch_norm_c1
    return failure();
  types.push_back(op.getInput().getType());
  return success();
}
MPC_INFER(BatchNormOp, inferTypes)

/// With fixed statistics the op is affine in its input, and the gradient is the
/// same op without mean and bias.
LogicalResult BatchNormOp::buildGradient(OpBuilder &builder,
                                         ValueRange resultGrads,
                                         ArrayRef<bool> needed,
                                         MutableArrayRef<Value> operandGrads) {
  if (needed[3] || needed[4])
    return emitOpError("has no gradient with respect to 'mean' and 'var'");
  Location loc = gradientLoc(getLoc());
  Value grad = resultGrads[0];
  auto filled = [&](double value) -> Value {
    RankedTensorType type = getScale().getType();
    Attribute element = builder.getFloatAttr(type.getElementType(), value);
    return ConstantOp::create(builder, loc,
                              DenseElementsAttr::get(type, element));
  };
  SmallVector<int64_t> others;
  for (int64_t dim = 0, rank = getType().getRank(); dim < rank; ++dim)
    if (dim != static_cast<int64_t>(getAxis()))
      others.push_back(dim);

  if (needed[0])
    operandGrads[0] = BatchNormOp::create(
        builder, loc, grad, getScale(), filled(0), filled(0), getVar(),
        getEpsilon(), getMomentum(), getAxis(), /*synchronized=*/false);
  if (needed[1]) {
    Value normalized = BatchNormOp::create(
        builder, loc, getInput(), filled(1), filled(0), getMean(), getVar(),
        getEpsilon(), getMomentum(), getAxis(), /*synchronized=*/false);
    Value product = MulOp::create(builder, loc, grad, normalized);
    operandGrads[1] = ReduceSumOp::create(builder, loc, product, others,
                                          /*keepdims=*/false);
  }
  if (needed[2])
    operandGrads[2] =
        ReduceSumOp::create(builder, loc, grad, others, /*keepdims=*/false);
  return success();
}

#define MPC_BATCH_NORM_LAYOUT(OP, ...)                                         \
  bool OP::isChannelsLast() {                                                  \
    return getAxis() + 1 == shapeOf(getInput()).size();                        \
  }                                                                            \
  void OP::setChannelsLast() { setAxis(shapeOf(getInput()).size() - 1); }      \
  SmallVector<unsigned> OP::getImageOperands() { return {__VA_ARGS__}; }       \
  SmallVector<unsigned> OP::getImageResults() { return {0}; }
MPC_BATCH_NORM_LAYOUT(BatchNormOp, 0)
MPC_BATCH_NORM_LAYOUT(BatchNormTrainingOp, 0)
MPC_BATCH_NORM_LAYOUT(BatchNormGradOp, 0, 1)
#undef MPC_BATCH_NORM_LAYOUT

LogicalResult BatchNormOp::lowerToLinalg(OpBuilder &builder,
                                         SmallVectorImpl<Value> &results) {
  Emitter emit(builder, getLoc(), shapeOf(getInput()),
               getComputeType(getOperands(), getType()));
  Norm norm = Norm::ofChannels(emit, getAxis());
  Value invStd = emitInvStd(emit, getVar(), getEpsilon().convertToDouble());
  results.push_back(emitNormalize(emit, norm, getType(), getInput(), getMean(),
                                  invStd, getScale(), getBias()));
  return success();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

// Normalization within a row does not depend on other rows.
Value LayerNormOp::getRowsOperand() {
  return getAxis() > 0 ? getInput() : Value();
}
Value RmsNormOp::getRowsOperand() {
  return getAxis() > 0 ? getInput() : Value();
}
Value SoftmaxOp::getRowsOperand() {
  return getAxis() > 0 ? getInput() : Value();
}
Value LogSoftmaxOp::getRowsOperand() {
  return getAxis() > 0 ? getInput() : Value();
}

//===----------------------------------------------------------------------===//
// BatchNormOp in training
//===----------------------------------------------------------------------===//

/// Returns the read of the running statistic that `value` is, or null after an
/// error.
static ReadOp findStatistic(BatchNormOp op, Value value, StringRef name) {
  auto read = value.getDefiningOp<ReadOp>();
  StateOp state;
  if (read)
    state = SymbolTable::lookupNearestSymbolFrom<StateOp>(read,
                                                          read.getStateAttr());
  if (state && state.getKind() == StateKind::Statistic)
    return read;
  InFlightDiagnostic diagnostic =
      op.emitOpError("cannot be trained: '")
      << name << "' must be a running statistic of the model (an initializer), "
      << "but is "
      << (state ? "another kind of state" : "not read from a state");
  if (Operation *definition = value.getDefiningOp())
    diagnostic.attachNote(definition->getLoc()) << "it comes from here";
  return nullptr;
}

/// Moves the running statistic towards that of the batch. If the model applies
/// a norm twice, it is moved twice, in order.
static void updateStatistic(RewriterBase &rewriter, BatchNormOp op, ReadOp read,
                            Value batch) {
  Location loc = op.getLoc();
  Operation *terminator = op->getBlock()->getTerminator();
  rewriter.setInsertionPoint(terminator);

  Value old = read;
  for (auto write : op->getBlock()->getOps<WriteOp>())
    if (write.getStateAttr() == read.getStateAttr()) {
      old = write.getValue();
      rewriter.eraseOp(write);
      break;
    }
  double momentum = op.getMomentum().convertToDouble();
  Value kept = MulOp::create(rewriter, loc, old,
                             createScalarLike(rewriter, loc, old, momentum));
  Value added =
      MulOp::create(rewriter, loc, batch,
                    createScalarLike(rewriter, loc, batch, 1 - momentum));
  Value updated = AddOp::create(rewriter, loc, kept, added);
  WriteOp::create(rewriter, loc, read.getStateAttr(), updated);
}

LogicalResult BatchNormOp::replaceByTrainingForm(RewriterBase &rewriter,
                                                 int64_t) {
  ReadOp mean = findStatistic(*this, getMean(), "mean");
  ReadOp var = mean ? findStatistic(*this, getVar(), "var") : nullptr;
  if (!var)
    return failure();

  rewriter.setInsertionPoint(*this);
  auto training = BatchNormTrainingOp::create(
      rewriter, getLoc(), getInput(), getScale(), getBias(), getEpsilon(),
      getAxis(), getSynchronized());
  updateStatistic(rewriter, *this, mean, training.getMean());
  updateStatistic(rewriter, *this, var, training.getVar());
  rewriter.replaceOp(*this, training.getResult());
  return success();
}

/// The op already is the inference form.
void BatchNormOp::replaceByInferenceForm(RewriterBase &) {}

/// True if no step changes `value`.
static bool isFrozen(Value value) {
  if (value.getDefiningOp<ConstantOp>())
    return true;
  auto read = value.getDefiningOp<ReadOp>();
  auto state = read ? SymbolTable::lookupNearestSymbolFrom<StateOp>(
                          read, read.getStateAttr())
                    : StateOp();
  return state && state.getKind() == StateKind::Constant;
}

/// Training uses frozen statistics unchanged.
bool BatchNormOp::keepsFormInTraining() {
  return isFrozen(getMean()) && isFrozen(getVar());
}

static LogicalResult inferTypes(BatchNormTrainingOp::Adaptor op,
                                const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  if (failed(checkChannels(shape, op.getAxis(),
                           {{"scale", op.getScale()}, {"bias", op.getBias()}},
                           error))) // batch_norm_training_c1
    return failure();
  Type statistic = pinnedType(shape[op.getAxis()], op.getInput());
  types.assign({op.getInput().getType(), statistic, statistic, statistic});
  return success();
}
MPC_INFER(BatchNormTrainingOp, inferTypes)

LogicalResult
BatchNormTrainingOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                   ArrayRef<bool> needed,
                                   MutableArrayRef<Value> operandGrads) {
  if (failed(checkResultGrads(*this, resultGrads)))
    return failure();
  auto gradients = BatchNormGradOp::create(
      builder, gradientLoc(getLoc()), resultGrads[0], getInput(), getScale(),
      getMean(), getInvStd(), getAxis(), getSynchronized());
  for (auto [index, isNeeded] : llvm::enumerate(needed))
    if (isNeeded)
      operandGrads[index] = gradients.getResult(index);
  return success();
}

LogicalResult
BatchNormTrainingOp::lowerToLinalg(OpBuilder &builder,
                                   SmallVectorImpl<Value> &results) {
  Emitter emit(builder, getLoc(), shapeOf(getInput()),
               getComputeType(getOperands(), getResultTypes()));
  Norm norm = Norm::ofChannels(emit, getAxis(), getSynchronized());
  Statistics statistics =
      emitStatistics(emit, norm, getInput(), getEpsilon().convertToDouble());
  results.push_back(emitNormalize(emit, norm, getResult().getType(), getInput(),
                                  statistics.mean, statistics.invStd,
                                  getScale(), getBias()));
  results.push_back(emit.round(statistics.mean, getMean().getType()));
  results.push_back(emit.round(statistics.variance, getVar().getType()));
  results.push_back(emit.round(statistics.invStd, getInvStd().getType()));
  return success();
}

static LogicalResult inferTypes(BatchNormGradOp::Adaptor op,
                                const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  if (failed(checkShape("grad", op.getGrad(), shape, error)) ||
      failed(checkChannels(shape, op.getAxis(),
                           {{"scale", op.getScale()},
                            {"mean", op.getMean()},
                            {"inv_std", op.getInvStd()}},
                           error)))
    return failure(); // batch_norm_grad_c1
  Type parameter = pinnedType(shape[op.getAxis()], op.getInput());
  types.assign({RankedTensorType::get(shape, elementOf(op.getGrad())),
                parameter, parameter});
  return success();
}
MPC_INFER(BatchNormGradOp, inferTypes)

LogicalResult BatchNormGradOp::lowerToLinalg(OpBuilder &builder,
                                             SmallVectorImpl<Value> &results) {
  Emitter emit(builder, getLoc(), shapeOf(getInput()),
               getComputeType(getOperands(), getResultTypes()));
  emitNormGradients(*this, emit,
                    Norm::ofChannels(emit, getAxis(), getSynchronized()),
                    results);
  return success();
}

//===----------------------------------------------------------------------===//
// MeanOverRanksOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(MeanOverRanksOp::Adaptor op,
                                const OpError &error,
                                SmallVectorImpl<Type> &types) {
  Type element = elementOf(op.getInput());
  if (!element.isF32() && !element.isF64()) // mean_over_ranks_c1
    return error("the tensor must be f32 or f64, but is ", element);
  types.push_back(op.getInput().getType());
  return success();
}
MPC_INFER(MeanOverRanksOp, inferTypes)

MPC_OP_FACTS(MeanOverRanksOp, Sensitive, countElements(getInput()),
             "all ranks add up statistics in f32")
bool MeanOverRanksOp::isOperandPinned(unsigned) { return true; }
bool MeanOverRanksOp::isResultPinned(unsigned) { return true; }

StringRef MeanOverRanksOp::getKernelName() { return "mean_over_ranks"; }
SmallVector<int64_t> MeanOverRanksOp::getKernelAttributes() { return {}; }

//===----------------------------------------------------------------------===//
// Softmax and log-softmax
//===----------------------------------------------------------------------===//

template <typename Adaptor>
static LogicalResult inferSoftmax(Adaptor op, const OpError &error,
                                  SmallVectorImpl<Type> &types) {
  if (failed(checkAxis(op.getAxis(), shapeOf(op.getInput()).size(),
                       error))) // softmax_c1
    return failure();
  types.push_back(op.getInput().getType());
  return success();
}

template <typename Adaptor>
static LogicalResult inferSoftmaxGrad(Adaptor op, const OpError &error,
                                      SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> shape = shapeOf(op.getOutput());
  if (failed(checkAxis(op.getAxis(), shape.size(), error)) ||
      failed(checkShape("grad", op.getGrad(), shape, error)))
    return failure(); // softmax_grad_c1
  types.push_back(op.getGrad().getType());
  return success();
}

MPC_INFER(SoftmaxOp, inferSoftmax)
MPC_INFER(LogSoftmaxOp, inferSoftmax)
MPC_INFER(SoftmaxGradOp, inferSoftmaxGrad)
MPC_INFER(LogSoftmaxGradOp, inferSoftmaxGrad)

LogicalResult SoftmaxOp::buildGradient(OpBuilder &builder,
                                       ValueRange resultGrads,
                                       ArrayRef<bool> needed,
                                       MutableArrayRef<Value> operandGrads) {
  if (needed[0])
    operandGrads[0] = SoftmaxGradOp::create(
        builder, gradientLoc(getLoc()), resultGrads[0], getResult(), getAxis());
  return success();
}

LogicalResult LogSoftmaxOp::buildGradient(OpBuilder &builder,
                                          ValueRange resultGrads,
                                          ArrayRef<bool> needed,
                                          MutableArrayRef<Value> operandGrads) {
  if (needed[0])
    operandGrads[0] = LogSoftmaxGradOp::create(
        builder, gradientLoc(getLoc()), resultGrads[0], getResult(), getAxis());
  return success();
}

/// The sum of the product of two tensors along the axis, which is kept.
static Value sumOfProduct(OpBuilder &builder, Location loc, Value a, Value b,
                          int64_t axis) {
  Value product = MulOp::create(builder, loc, a, b);
  return ReduceSumOp::create(builder, loc, product, ArrayRef<int64_t>(axis),
                             /*keepdims=*/true);
}

// The gradient of y (g - sum(g y)) for the incoming gradient h. With respect to
// g it is softmax_grad again, because the Jacobian of softmax is symmetric;
// with respect to y it is h (g - sum(g y)) - g sum(h y).
LogicalResult
SoftmaxGradOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                             ArrayRef<bool> needed,
                             MutableArrayRef<Value> operandGrads) {
  Location loc = gradientLoc(getLoc());
  Value h = resultGrads[0], g = getGrad(), y = getOutput();
  auto axis = static_cast<int64_t>(getAxis());
  if (needed[0])
    operandGrads[0] = SoftmaxGradOp::create(builder, loc, h, y, getAxis());
  if (needed[1]) {
    Value centred =
        SubOp::create(builder, loc, g, sumOfProduct(builder, loc, g, y, axis));
    Value own = MulOp::create(builder, loc, h, centred);
    Value rest =
        MulOp::create(builder, loc, g, sumOfProduct(builder, loc, h, y, axis));
    operandGrads[1] = SubOp::create(builder, loc, own, rest);
  }
  return success();
}

// The gradient of g - exp(y) sum(g) for the incoming gradient h.
LogicalResult
LogSoftmaxGradOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                ArrayRef<bool> needed,
                                MutableArrayRef<Value> operandGrads) {
  Location loc = gradientLoc(getLoc());
  Value h = resultGrads[0];
  auto axis = static_cast<int64_t>(getAxis());
  Value probabilities = ExpOp::create(builder, loc, getOutput());
  if (needed[0]) {
    Value sum = sumOfProduct(builder, loc, h, probabilities, axis);
    operandGrads[0] = SubOp::create(builder, loc, h, sum);
  }
  if (needed[1]) {
    Value sum =
        ReduceSumOp::create(builder, loc, getGrad(), ArrayRef<int64_t>(axis),
                            /*keepdims=*/true);
    Value product = MulOp::create(builder, loc, h, probabilities);
    operandGrads[1] = NegOp::create(
        builder, loc, MulOp::create(builder, loc, product, sum).getResult());
  }
  return success();
}

LogicalResult SoftmaxOp::lowerToLinalg(OpBuilder &builder,
                                       SmallVectorImpl<Value> &results) {
  Emitter emit(builder, getLoc(), shapeOf(getInput()),
               getComputeType(getInput(), getType()));
  int64_t axis = getAxis();
  bool zeroEmpty = getZeroEmpty();
  Indexed input{getInput(), emit.all()};
  Value max = emit.rowMax(axis, input);
  if (zeroEmpty)
    max = emit.combine(max, [](Scalars s, ValueRange v) {
      double nothing = -std::numeric_limits<double>::infinity();
      return s.select(s.equal(v[0], s.constant(nothing, v[0])),
                      s.constant(0, v[0]), v[0]);
    });
  Value exps =
      emit.map({input, {max, emit.allBut(axis)}}, [](Scalars s, ValueRange v) {
        return s.expDifference(v[0], v[1]);
      });
  Value sum = emit.sum(axis, {{exps, emit.all()}},
                       [](Scalars, ValueRange v) { return v[0]; });
  // One division per row instead of one per element.
  Value factor = emit.combine(sum, [&](Scalars s, ValueRange v) {
    Value one = s.constant(1, v[0]);
    // The sum is at least 1, from the largest element, unless the row is fully
    // masked: then it is 0.
    return s.div(one, zeroEmpty ? s.max(v[0], one) : v[0]);
  });
  results.push_back(
      emit.map(getType(), {{exps, emit.all()}, {factor, emit.allBut(axis)}},
               [](Scalars s, ValueRange v) { return s.mul(v[0], v[1]); }));
  return success();
}

LogicalResult LogSoftmaxOp::lowerToLinalg(OpBuilder &builder,
                                          SmallVectorImpl<Value> &results) {
  Emitter emit(builder, getLoc(), shapeOf(getInput()),
               getComputeType(getInput(), getType()));
  int64_t axis = getAxis();
  Indexed input{getInput(), emit.all()};
  Value max = emit.rowMax(axis, input);
  Value sum = emit.sum(
      axis, {input, {max, emit.allBut(axis)}},
      [](Scalars s, ValueRange v) { return s.expDifference(v[0], v[1]); });
  Value log =
      emit.combine(sum, [](Scalars s, ValueRange v) { return s.log(v[0]); });
  // max and log(sum) are subtracted separately: subtracting the maximum first
  // is exact near the largest element, where it matters.
  results.push_back(emit.map(
      getType(), {input, {max, emit.allBut(axis)}, {log, emit.allBut(axis)}},
      [](Scalars s, ValueRange v) { return s.sub(s.sub(v[0], v[1]), v[2]); }));
  return success();
}

LogicalResult SoftmaxGradOp::lowerToLinalg(OpBuilder &builder,
                                           SmallVectorImpl<Value> &results) {
  Emitter emit(builder, getLoc(), shapeOf(getOutput()),
               getComputeType(getOperands(), getType()));
  int64_t axis = getAxis();
  Indexed grad{getGrad(), emit.all()}, output{getOutput(), emit.all()};
  Value sum = emit.sum(axis, {grad, output}, [](Scalars s, ValueRange v) {
    return s.mul(v[0], v[1]);
  });
  results.push_back(emit.map(
      getType(), {grad, output, {sum, emit.allBut(axis)}},
      [](Scalars s, ValueRange v) { return s.mul(v[1], s.sub(v[0], v[2])); }));
  return success();
}

LogicalResult LogSoftmaxGradOp::lowerToLinalg(OpBuilder &builder,
                                              SmallVectorImpl<Value> &results) {
  Emitter emit(builder, getLoc(), shapeOf(getOutput()),
               getComputeType(getOperands(), getType()));
  int64_t axis = getAxis();
  Indexed grad{getGrad(), emit.all()}, output{getOutput(), emit.all()};
  Value sum =
      emit.sum(axis, {grad}, [](Scalars, ValueRange v) { return v[0]; });
  results.push_back(emit.map(getType(),
                             {grad, output, {sum, emit.allBut(axis)}},
                             [](Scalars s, ValueRange v) {
                               return s.sub(v[0], s.mul(s.exp(v[1]), v[2]));
                             }));
  return success();
}
