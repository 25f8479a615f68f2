//===- Loss.cpp - Losses --------------------------------------------------===//
//
// A label selects its class by comparing positions instead of indexing: the
// selection fuses with the other reductions of the row, and no label can read
// outside of its row. An invalid label makes the loss and the gradient of its
// row NaN; this is checked once per row.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/Emit.h"
#include "compiler/Support/Locations.h"

#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

//===----------------------------------------------------------------------===//
// Classes, costs, reasons
//===----------------------------------------------------------------------===//

#define MPC_LOSS_FACTS(OP, PER_ELEMENT, ELEMENTS)                              \
  MPC_OP_FACTS(OP, Sensitive, PER_ELEMENT *countElements(ELEMENTS),            \
               "loss: differences of logarithms and a long sum")               \
  bool OP::isResultPinned(unsigned) { return false; }

MPC_LOSS_FACTS(SoftmaxCrossEntropyOp, 14, getInput())
MPC_LOSS_FACTS(SoftmaxCrossEntropyGradOp, 16, getInput())
MPC_LOSS_FACTS(NllLossOp, 1, getInput())
MPC_LOSS_FACTS(NllLossGradOp, 1, getInput())
MPC_LOSS_FACTS(ElementLossOp, 3, getPrediction())
MPC_LOSS_FACTS(ElementLossGradOp, 3, getPrediction())
#undef MPC_LOSS_FACTS

MPC_OP_FACTS(IsCorrectOp, Sensitive, 2 * countElements(getLogits()),
             "rounding makes logits equal")
MPC_OP_FACTS(IsCountedOp, Sensitive, countElements(getLabels()),
             "weights of the loss")

// Labels, targets and class weights are pinned.
bool SoftmaxCrossEntropyOp::isOperandPinned(unsigned index) {
  return index > 0;
}
bool SoftmaxCrossEntropyGradOp::isOperandPinned(unsigned index) {
  return index > 1;
}
bool NllLossOp::isOperandPinned(unsigned index) { return index > 0; }
bool NllLossGradOp::isOperandPinned(unsigned index) { return index > 1; }
bool ElementLossOp::isOperandPinned(unsigned index) { return index > 0; }
bool ElementLossGradOp::isOperandPinned(unsigned index) { return index > 1; }
bool IsCorrectOp::isOperandPinned(unsigned index) { return index > 0; }
bool IsCorrectOp::isResultPinned(unsigned) { return true; }
bool IsCountedOp::isOperandPinned(unsigned) { return true; }
bool IsCountedOp::isResultPinned(unsigned) { return true; }

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Checks labels (class_loss_c1, class_loss_c3, is_correct_c1) against scores
/// [N, C, d..].
static LogicalResult checkLabels(Value scores, Value labels,
                                 const OpError &error) {
  SmallVector<int64_t> expected(shapeOf(scores));
  if (expected.size() < 2)
    return error("the first operand must have rank 2 or more, but has rank ",
                 expected.size());
  int64_t classes = expected[1];
  if (classes > std::numeric_limits<int32_t>::max())
    return error("there may be at most 2^31 - 1 classes, but there are ",
                 classes);
  expected.erase(expected.begin() + 1);
  return checkShape("labels", labels, expected, error);
}

/// Checks the number of classes among the columns of scores [N, C, d..]
/// (class_loss_c5, is_correct_c3).
static LogicalResult checkClasses(Value scores, std::optional<uint64_t> classes,
                                  const OpError &error) {
  int64_t columns = shapeOf(scores)[kClassDim];
  int64_t count = classes.value_or(columns);
  if (count < 1 || count > columns)
    return error("'classes' must lie in [1, ", columns, "], but is ", count);
  return success();
}

/// The shape of a loss over `samples`.
static ArrayRef<int64_t> lossShape(ArrayRef<int64_t> samples,
                                   LossReduction reduction) {
  return reduction == LossReduction::None ? samples : ArrayRef<int64_t>();
}

template <typename Adaptor>
static LogicalResult checkClassLoss(Adaptor op, const OpError &error) {
  if (failed(checkLabels(op.getInput(), op.getLabels(),
                         error))) // class_loss_c1
    return failure();
  if (op.getWeight() &&
      failed(checkShape("weight", op.getWeight(), shapeOf(op.getInput())[1],
                        error))) // class_loss_c2
    return failure();
  if (op.getClasses() && op.getWeight()) // class_loss_c5
    return error("padded classes cannot be combined with class weights");
  if (failed(checkClasses(op.getInput(), op.getClasses(),
                          error))) // class_loss_c5
    return failure();
  std::optional<APFloat> smoothing = op.getLabelSmoothing();
  if (!smoothing)
    return success();
  if (op.getWeight()) // class_loss_c4
    return error("label smoothing cannot be combined with class weights");
  double share = smoothing->convertToDouble();
  if (!(share >= 0 && share <= 1)) // class_loss_c4
    return error("'label_smoothing' must lie in [0, 1], but is ", share);
  return success();
}

template <typename Adaptor>
static LogicalResult inferClassLoss(Adaptor op, const OpError &error,
                                    SmallVectorImpl<Type> &types) {
  if (failed(checkClassLoss(op, error)))
    return failure();
  types.push_back(RankedTensorType::get(
      lossShape(shapeOf(op.getLabels()), op.getReduction()),
      elementOf(op.getInput())));
  return success();
}

template <typename Adaptor>
static LogicalResult inferClassLossGrad(Adaptor op, const OpError &error,
                                        SmallVectorImpl<Type> &types) {
  if (failed(checkClassLoss(op, error)) ||
      failed(checkShape("grad", op.getGrad(),
                        lossShape(shapeOf(op.getLabels()), op.getReduction()),
                        error))) // class_loss_grad_c1
    return failure();
  types.push_back(op.getInput().getType());
  return success();
}

MPC_INFER(SoftmaxCrossEntropyOp, inferClassLoss)
MPC_INFER(SoftmaxCrossEntropyGradOp, inferClassLossGrad)
MPC_INFER(NllLossOp, inferClassLoss)
MPC_INFER(NllLossGradOp, inferClassLossGrad)

static LogicalResult inferTypes(ElementLossOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> shape = shapeOf(op.getPrediction());
  if (failed(checkShape("target", op.getTarget(), shape,
                        error))) // element_loss_c1
    return failure();
  types.push_back(RankedTensorType::get(lossShape(shape, op.getReduction()),
                                        elementOf(op.getPrediction())));
  return success();
}
MPC_INFER(ElementLossOp, inferTypes)

static LogicalResult inferTypes(ElementLossGradOp::Adaptor op,
                                const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> shape = shapeOf(op.getPrediction());
  if (failed(checkShape("target", op.getTarget(), shape, error)) ||
      failed(checkShape("grad", op.getGrad(),
                        lossShape(shape, op.getReduction()),
                        error))) // element_loss_grad_c1
    return failure();
  types.push_back(op.getPrediction().getType());
  return success();
}
MPC_INFER(ElementLossGradOp, inferTypes)

static LogicalResult inferTypes(IsCorrectOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  if (failed(checkLabels(op.getLogits(), op.getLabels(),
                         error))) // is_correct_c1
    return failure();
  int64_t classes = shapeOf(op.getLogits())[1];
  if (classes > int64_t(1) << 24) // is_correct_c2
    return error("there may be at most 2^24 classes, but there are ", classes);
  if (failed(checkClasses(op.getLogits(), op.getClasses(),
                          error))) // is_correct_c3
    return failure();
  types.push_back(RankedTensorType::get(
      shapeOf(op.getLabels()), Float32Type::get(op.getLogits().getContext())));
  return success();
}
MPC_INFER(IsCorrectOp, inferTypes)

static LogicalResult inferTypes(IsCountedOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> labels = shapeOf(op.getLabels());
  if (labels.empty()) // is_counted_c1
    return error("labels must have rank 1 or more, but have rank 0");
  if (op.getWeight() && shapeOf(op.getWeight()).size() != 1) // is_counted_c1
    return error("'weight' must have rank 1, but has rank ",
                 shapeOf(op.getWeight()).size());
  Type element = Float32Type::get(op.getLabels().getContext());
  if (op.getWeight() && elementOf(op.getWeight()).isF64())
    element = elementOf(op.getWeight());
  types.push_back(RankedTensorType::get(labels, element));
  return success();
}
MPC_INFER(IsCountedOp, inferTypes)

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

template <typename GradOp, typename Op>
static LogicalResult buildClassLossGradient(Op op, OpBuilder &builder,
                                            Value grad, ArrayRef<bool> needed,
                                            MutableArrayRef<Value> grads) {
  if (op.getWeight() && needed[2])
    return op.emitOpError("has no gradient with respect to the class weights; "
                          "mark them as not trainable");
  if (needed[0])
    grads[0] = GradOp::create(builder, gradientLoc(op.getLoc()), grad,
                              op.getInput(), op.getLabels(), op.getWeight(),
                              op.getReductionAttr(), op.getIgnoreIndexAttr(),
                              op.getLabelSmoothingAttr(), op.getClassesAttr());
  return success();
}

LogicalResult
SoftmaxCrossEntropyOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                     ArrayRef<bool> needed,
                                     MutableArrayRef<Value> operandGrads) {
  return buildClassLossGradient<SoftmaxCrossEntropyGradOp>(
      *this, builder, resultGrads[0], needed, operandGrads);
}

LogicalResult NllLossOp::buildGradient(OpBuilder &builder,
                                       ValueRange resultGrads,
                                       ArrayRef<bool> needed,
                                       MutableArrayRef<Value> operandGrads) {
  return buildClassLossGradient<NllLossGradOp>(*this, builder, resultGrads[0],
                                               needed, operandGrads);
}

LogicalResult
ElementLossOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                             ArrayRef<bool> needed,
                             MutableArrayRef<Value> operandGrads) {
  if (needed[1])
    return emitOpError("has no gradient with respect to its target");
  if (needed[0])
    operandGrads[0] = ElementLossGradOp::create(
        builder, gradientLoc(getLoc()), resultGrads[0], getPrediction(),
        getTarget(), getKindAttr(), getReductionAttr());
  return success();
}

//===----------------------------------------------------------------------===//
// Padded classes
//===----------------------------------------------------------------------===//

#define MPC_PADDED_CLASSES(OP, SCORES, CAN_PAD)                                \
  unsigned OP::getScoresOperand() { return SCORES; }                           \
  bool OP::canPadClasses() { return CAN_PAD; }                                 \
  void OP::padClasses(int64_t count) { setClasses(count); }
MPC_PADDED_CLASSES(SoftmaxCrossEntropyOp, 0, !getWeight())
MPC_PADDED_CLASSES(SoftmaxCrossEntropyGradOp, 1, !getWeight())
MPC_PADDED_CLASSES(NllLossOp, 0, !getWeight())
MPC_PADDED_CLASSES(NllLossGradOp, 1, !getWeight())
MPC_PADDED_CLASSES(IsCorrectOp, 0, true)
#undef MPC_PADDED_CLASSES

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

/// The sum of the weights of all labels; null if each weight is 1.
template <typename Op>
static Value buildClassDivisor(Op op, OpBuilder &builder) {
  if (!op.isWeighted())
    return nullptr;
  auto type =
      RankedTensorType::get(shapeOf(op.getLabels()), elementOf(op.getLoss()));
  Value counts = IsCountedOp::create(builder, op.getLoc(), type, op.getLabels(),
                                     op.getWeight(), op.getIgnoreIndexAttr());
  return ReduceSumOp::create(builder, op.getLoc(), counts, allDims(counts),
                             /*keepdims=*/false);
}

LossKind ElementLossOp::getLossKind() {
  switch (getKind()) {
  case ElementLoss::MeanSquaredError:
    return LossKind::MeanSquaredError;
  case ElementLoss::MeanAbsoluteError:
    return LossKind::MeanAbsoluteError;
  case ElementLoss::BinaryCrossEntropyWithLogits:
    return LossKind::BinaryCrossEntropyWithLogits;
  }
  llvm_unreachable("all losses handled");
}

#define MPC_BATCH_LOSS(OP, TERMS, WEIGHTED, DIVISOR)                           \
  bool OP::isSumReduction() { return getReduction() == LossReduction::Sum; }   \
  bool OP::isWeighted() { return !isSumReduction() && (WEIGHTED); }            \
  int64_t OP::countTerms() { return countElements(TERMS); }                    \
  Value OP::buildDivisor([[maybe_unused]] OpBuilder &builder) {                \
    return DIVISOR;                                                            \
  }
MPC_BATCH_LOSS(SoftmaxCrossEntropyOp, getLabels(),
               getWeight() || getIgnoreIndex(),
               buildClassDivisor(*this, builder))
MPC_BATCH_LOSS(NllLossOp, getLabels(), getWeight() || getIgnoreIndex(),
               buildClassDivisor(*this, builder))
MPC_BATCH_LOSS(ElementLossOp, getPrediction(), false, nullptr)
#undef MPC_BATCH_LOSS

//===----------------------------------------------------------------------===//
// Steps of classification losses
//===----------------------------------------------------------------------===//

namespace {

/// The columns of scores [N, C, d..] that are classes: the first `count`.
class Classes {
public:
  Classes(Value scores, std::optional<uint64_t> given)
      : columns(shapeOf(scores)[kClassDim]), number(given.value_or(columns)) {}

  int64_t count() const { return number; }
  /// `value`, but `otherwise` in a column that is no class.
  Value select(Scalars s, Value value, double otherwise) const {
    if (number == columns)
      return value;
    Value position = s.position(kClassDim);
    Value isClass = s.compare(arith::CmpIPredicate::ult, position,
                              s.integer(number, position));
    return s.select(isClass, value, s.constant(otherwise, value));
  }
  /// `score`, but minus infinity in a column that is no class.
  Value score(Scalars s, Value score) const {
    return select(s, score, -std::numeric_limits<double>::infinity());
  }

private:
  int64_t columns, number;
};

/// Builds the steps of one loss op over the shape of its scores. A row is the
/// scores that one label belongs to.
class ClassLoss {
public:
  template <typename Op>
  ClassLoss(OpBuilder &builder, Op op)
      : emit(builder, op.getLoc(), shapeOf(op.getInput()),
             getComputeType(op->getOperands(), op->getResultTypes())),
        scores{op.getInput(), emit.all()}, labels{op.getLabels(),
                                                  emit.allBut(kClassDim)},
        classes(op.getInput(), op.getClasses()), weight(op.getWeight()),
        ignored(op.getIgnoreIndex()), reduction(op.getReduction()) {
    if (std::optional<APFloat> share = op.getLabelSmoothing())
      smoothing = share->convertToDouble();
  }

  Indexed row(Value value) const { return {value, labels.dims}; }

  /// The largest score of each row, and the sum of exp(score - largest).
  std::pair<Value, Value> emitSoftmaxSums();
  /// `from` (one number per row, or null for 0) minus the expected score of
  /// each row: the score of the label, or with smoothing the weighted mean of
  /// it and the mean of all scores.
  Value emitExpectedLoss(Value from);
  /// `value` of a row, but 0 if its label is ignored, and NaN if it is invalid.
  Value checkLabel(Scalars s, Value value, Value label) const;
  /// The target probability of the current class, times `factor`.
  Value expected(Scalars s, Value label, Value factor);
  /// The class weight of each row, 0 if its label is ignored. Null without
  /// class weights.
  Value emitWeights();
  /// The divisor of the mean, from `emitWeights`. Null if it is the number of
  /// rows.
  Value emitDivisor(Value weights);
  /// The loss from the loss of each row.
  Value emitReduced(Value losses, Type type);
  /// The factor of the gradient of each row.
  Value emitRowFactors(Value grad);

  Emitter emit;
  Indexed scores, labels;
  Classes classes;

private:
  /// The target probability of a class that is not the label.
  double otherClassProbability() const {
    return smoothing / double(classes.count());
  }

  Value weight;
  std::optional<int64_t> ignored;
  LossReduction reduction;
  double smoothing = 0;
};

} // namespace

/// True if the label is `ignored`; null if it can never be.
static Value isIgnored(Scalars s, Value label, std::optional<int64_t> ignored) {
  Value index = ignored ? s.integer(*ignored, label) : Value();
  return index ? s.equal(label, index) : Value();
}

/// `value`, but 0 if the label is ignored.
static Value zeroIfIgnored(Scalars s, Value value, Value label,
                           std::optional<int64_t> ignored) {
  Value condition = isIgnored(s, label, ignored);
  return condition ? s.select(condition, s.constant(0, value), value) : value;
}

/// The class weight of each label, 0 if it is ignored.
static Value emitLabelWeights(Emitter &emit, const Indexed &labels,
                              Value weight, std::optional<int64_t> ignored) {
  return emit.sum(kClassDim, {labels, {weight, {kClassDim}}},
                  [&](Scalars s, ValueRange v) {
                    Value here = s.isAt(kClassDim, v[0]);
                    Value own = s.select(here, v[1], s.constant(0, v[1]));
                    return zeroIfIgnored(s, own, v[0], ignored);
                  });
}

std::pair<Value, Value> ClassLoss::emitSoftmaxSums() {
  Value max = emit.rowMax(kClassDim, scores, [&](Scalars s, ValueRange v) {
    return classes.score(s, v[0]);
  });
  Value sum =
      emit.sum(kClassDim, {scores, row(max)}, [&](Scalars s, ValueRange v) {
        return s.expDifference(classes.score(s, v[0]), v[1]);
      });
  return {max, sum};
}

Value ClassLoss::emitExpectedLoss(Value from) {
  SmallVector<Indexed> operands = {scores, labels};
  if (from)
    operands.push_back(row(from));
  auto below = [](Scalars s, ValueRange v) {
    return v.size() > 2 ? s.sub(v[2], v[0]) : s.neg(v[0]);
  };
  Value own = emit.sum(kClassDim, operands, [&](Scalars s, ValueRange v) {
    Value here = s.isAt(kClassDim, v[1]);
    return s.select(here, below(s, v), s.constant(0, v[0]));
  });
  if (smoothing == 0)
    return own;
  Value all = emit.sum(kClassDim, operands, [&](Scalars s, ValueRange v) {
    return classes.select(s, below(s, v), 0);
  });
  return emit.combine({own, all}, [&](Scalars s, ValueRange v) {
    return s.add(s.mul(s.constant(1 - smoothing, v[0]), v[0]),
                 s.mul(s.constant(otherClassProbability(), v[1]), v[1]));
  });
}

Value ClassLoss::expected(Scalars s, Value label, Value factor) {
  Value here = s.isAt(kClassDim, label);
  if (smoothing == 0)
    return s.select(here, factor, s.constant(0, factor));
  double others = otherClassProbability();
  return s.mul(factor,
               s.select(here, s.constant(1 - smoothing + others, factor),
                        s.constant(others, factor)));
}

Value ClassLoss::checkLabel(Scalars s, Value value, Value label) const {
  Value isClass = s.isWithin(classes.count(), label);
  value = s.select(isClass, value, s.constant(NAN, value));
  // This comes last: the ignored label may be an invalid class.
  return zeroIfIgnored(s, value, label, ignored);
}

Value ClassLoss::emitWeights() {
  return weight ? emitLabelWeights(emit, labels, weight, ignored) : Value();
}

Value ClassLoss::emitDivisor(Value weights) {
  if (!weights && !ignored)
    return nullptr;
  Emitter rows = emit.over(shapeOf(labels.value));
  if (weights)
    return rows.sum(rows.all(), {{weights, rows.all()}},
                    [](Scalars, ValueRange v) { return v[0]; });
  FloatType type = emit.computeType();
  return rows.sum(
      rows.all(), {{labels.value, rows.all()}}, [&](Scalars s, ValueRange v) {
        return zeroIfIgnored(s, s.constantOf(1, type), v[0], ignored);
      });
}

Value ClassLoss::emitReduced(Value losses, Type type) {
  Value weights = emitWeights();
  SmallVector<Value> operands{losses, labels.value};
  if (weights)
    operands.push_back(weights);
  losses = emit.combine(operands, [&](Scalars s, ValueRange v) {
    Value own = weights ? s.mul(v[0], v[2]) : v[0];
    // A weight of 0 does not suffice: 0 * inf is NaN.
    return checkLabel(s, own, v[1]);
  });
  if (reduction == LossReduction::None)
    return emit.round(losses, type);

  Emitter rows = emit.over(shapeOf(losses));
  Value total = rows.sum(rows.all(), {{losses, rows.all()}},
                         [](Scalars, ValueRange v) { return v[0]; });
  if (reduction == LossReduction::Sum)
    return emit.round(total, type);
  Value divisor = emitDivisor(weights);
  double count = rows.count(rows.all());
  SmallVector<Value> sums{total};
  if (divisor)
    sums.push_back(divisor);
  Value mean = emit.combine(sums, [&](Scalars s, ValueRange v) {
    return s.div(v[0], divisor ? v[1] : s.constant(count, v[0]));
  });
  return emit.round(mean, type);
}

Value ClassLoss::emitRowFactors(Value grad) {
  Value weights = emitWeights();
  bool isMean = reduction == LossReduction::Mean;
  Value divisor = isMean ? emitDivisor(weights) : Value();
  double count = emit.count(labels.dims);
  SmallVector<Value> operands{labels.value, grad};
  for (Value operand : {divisor, weights})
    if (operand)
      operands.push_back(operand);
  return emit.combine(operands, [&](Scalars s, ValueRange v) {
    Value factor = v[1];
    if (isMean)
      factor = s.div(factor, divisor ? v[2] : s.constant(count, factor));
    if (weights) {
      // The product alone does not suffice: if all weights are 0, so is the
      // divisor.
      Value zero = s.constant(0, v.back());
      factor = s.select(s.equal(v.back(), zero), s.constant(0, factor),
                        s.mul(factor, v.back()));
    }
    // A weight of 0 does not suffice: if all labels are ignored, the divisor is
    // 0.
    return checkLabel(s, factor, v[0]);
  });
}

//===----------------------------------------------------------------------===//
// Lowering of classification losses
//===----------------------------------------------------------------------===//

LogicalResult
SoftmaxCrossEntropyOp::lowerToLinalg(OpBuilder &builder,
                                     SmallVectorImpl<Value> &results) {
  ClassLoss loss(builder, *this);
  auto [max, sum] = loss.emitSoftmaxSums();
  Value rows = loss.emit.combine(
      {sum, loss.emitExpectedLoss(max)},
      [](Scalars s, ValueRange v) { return s.add(s.log(v[0]), v[1]); });
  results.push_back(loss.emitReduced(rows, getType()));
  return success();
}

/// factor * (softmax - target probability), with the factor divided by the
/// softmax's sum once per row. Maximum and sum are those of the loss, so that
/// common subexpressions are eliminated.
LogicalResult
SoftmaxCrossEntropyGradOp::lowerToLinalg(OpBuilder &builder,
                                         SmallVectorImpl<Value> &results) {
  ClassLoss loss(builder, *this);
  auto [max, sum] = loss.emitSoftmaxSums();
  Value factor = loss.emitRowFactors(getGrad());
  Value slope = loss.emit.combine(
      {factor, sum}, [](Scalars s, ValueRange v) { return s.div(v[0], v[1]); });
  results.push_back(loss.emit.map(
      getType(),
      {loss.scores, loss.row(max), loss.row(slope), loss.row(factor),
       loss.labels},
      [&](Scalars s, ValueRange v) {
        Value slope = s.sub(s.mul(s.expDifference(v[0], v[1]), v[2]),
                            loss.expected(s, v[4], v[3]));
        return loss.classes.select(s, slope, 0);
      }));
  return success();
}

LogicalResult NllLossOp::lowerToLinalg(OpBuilder &builder,
                                       SmallVectorImpl<Value> &results) {
  ClassLoss loss(builder, *this);
  Value rows = loss.emitExpectedLoss(nullptr);
  results.push_back(loss.emitReduced(rows, getType()));
  return success();
}

LogicalResult NllLossGradOp::lowerToLinalg(OpBuilder &builder,
                                           SmallVectorImpl<Value> &results) {
  ClassLoss loss(builder, *this);
  Value factor = loss.emitRowFactors(getGrad());
  results.push_back(loss.emit.map(
      getType(), {loss.row(factor), loss.labels}, [&](Scalars s, ValueRange v) {
        Value slope = s.neg(loss.expected(s, v[1], v[0]));
        return loss.classes.select(s, slope, 0);
      }));
  return success();
}

//===----------------------------------------------------------------------===//
// Lowering of evaluation metrics
//===----------------------------------------------------------------------===//

/// The first largest logit is where the negated position is largest among
/// those that equal the maximum. NaN equals nothing, so it is never correct.
LogicalResult IsCorrectOp::lowerToLinalg(OpBuilder &builder,
                                         SmallVectorImpl<Value> &results) {
  Emitter emit(builder, getLoc(), shapeOf(getLogits()),
               getComputeType(getLogits(), getType()));
  Indexed logits{getLogits(), emit.all()};
  Indexed labels{getLabels(), emit.allBut(kClassDim)};
  Classes classes(getLogits(), getClasses());
  Value max = emit.max(kClassDim, {logits}, [&](Scalars s, ValueRange v) {
    return classes.score(s, v[0]);
  });
  Value first = emit.max(
      kClassDim, {logits, {max, labels.dims}}, [&](Scalars s, ValueRange v) {
        Value at = s.toFloat(s.position(kClassDim), v[0].getType());
        double never = -std::numeric_limits<double>::infinity();
        return s.select(s.equal(classes.score(s, v[0]), v[1]), s.neg(at),
                        s.constant(never, v[0]));
      });
  results.push_back(
      emit.over(shapeOf(first))
          .map(getType(),
               {{first, allDims(first)}, {getLabels(), allDims(getLabels())}},
               [](Scalars s, ValueRange v) {
                 Value label = s.toFloat(v[1], v[0].getType());
                 return s.select(s.equal(v[0], s.neg(label)),
                                 s.constant(1, v[0]), s.constant(0, v[0]));
               }));
  return success();
}

LogicalResult IsCountedOp::lowerToLinalg(OpBuilder &builder,
                                         SmallVectorImpl<Value> &results) {
  SmallVector<int64_t> domain(shapeOf(getLabels()));
  FloatType compute = getComputeType(getOperands(), getType());
  std::optional<int64_t> ignored = getIgnoreIndex();
  if (!getWeight()) {
    Emitter emit(builder, getLoc(), domain, compute);
    results.push_back(emit.map(getType(), {{getLabels(), emit.all()}},
                               [&](Scalars s, ValueRange v) {
                                 Value one = s.constantOf(1, compute);
                                 return zeroIfIgnored(s, one, v[0], ignored);
                               }));
    return success();
  }
  domain.insert(domain.begin() + kClassDim,
                getWeight().getType().getDimSize(0));
  Emitter emit(builder, getLoc(), domain, compute);
  Value weights = emitLabelWeights(emit, {getLabels(), emit.allBut(kClassDim)},
                                   getWeight(), ignored);
  results.push_back(emit.round(weights, getType()));
  return success();
}

//===----------------------------------------------------------------------===//
// Lowering of elementwise losses
//===----------------------------------------------------------------------===//

static Value emitElementLoss(Scalars s, ElementLoss kind, Value prediction,
                             Value target) {
  Value difference = s.sub(prediction, target);
  switch (kind) {
  case ElementLoss::MeanSquaredError:
    return s.mul(difference, difference);
  case ElementLoss::MeanAbsoluteError:
    return s.abs(difference);
  case ElementLoss::BinaryCrossEntropyWithLogits: {
    // max(x, 0) - x t, without a difference of large similar numbers.
    Value zero = s.constant(0, prediction);
    Value above = s.compare(arith::CmpFPredicate::OGT, prediction, zero);
    Value side = s.select(above, s.constant(1, prediction), zero);
    Value linear = s.mul(prediction, s.sub(side, target));
    return s.add(linear, s.log1p(s.exp(s.neg(s.abs(prediction)))));
  }
  }
  llvm_unreachable("unknown element loss");
}

/// The derivative of the loss of one element with respect to the prediction.
static Value emitElementSlope(Scalars s, ElementLoss kind, Value prediction,
                              Value target) {
  Value difference = s.sub(prediction, target);
  Value one = s.constant(1, difference);
  switch (kind) {
  case ElementLoss::MeanSquaredError:
    return s.add(difference, difference);
  case ElementLoss::MeanAbsoluteError: {
    Value zero = s.constant(0, difference);
    Value above = s.compare(arith::CmpFPredicate::OGT, difference, zero);
    Value below = s.compare(arith::CmpFPredicate::OLT, difference, zero);
    // NaN stays NaN, and 0 stays 0.
    return s.select(above, one, s.select(below, s.neg(one), difference));
  }
  case ElementLoss::BinaryCrossEntropyWithLogits: {
    Value sigmoid = s.div(one, s.add(one, s.exp(s.neg(prediction))));
    return s.sub(sigmoid, target);
  }
  }
  llvm_unreachable("unknown element loss");
}

LogicalResult ElementLossOp::lowerToLinalg(OpBuilder &builder,
                                           SmallVectorImpl<Value> &results) {
  Emitter emit(builder, getLoc(), shapeOf(getPrediction()),
               getComputeType(getOperands(), getType()));
  Indexed prediction{getPrediction(), emit.all()};
  Indexed target{getTarget(), emit.all()};
  auto body = [&](Scalars s, ValueRange v) {
    return emitElementLoss(s, getKind(), v[0], v[1]);
  };
  if (getReduction() == LossReduction::None) {
    results.push_back(emit.map(getType(), {prediction, target}, body));
    return success();
  }
  Value loss = emit.sum(emit.all(), {prediction, target}, body);
  if (getReduction() == LossReduction::Mean) {
    double count = emit.count(emit.all());
    loss = emit.combine(loss, [&](Scalars s, ValueRange v) {
      return s.div(v[0], s.constant(count, v[0]));
    });
  }
  results.push_back(emit.round(loss, getType()));
  return success();
}

LogicalResult
ElementLossGradOp::lowerToLinalg(OpBuilder &builder,
                                 SmallVectorImpl<Value> &results) {
  Emitter emit(builder, getLoc(), shapeOf(getPrediction()),
               getComputeType(getOperands(), getType()));
  double factor =
      getReduction() == LossReduction::Mean ? 1 / emit.count(emit.all()) : 1.0;
  results.push_back(emit.map(
      getType(),
      {{getGrad(), allDims(getGrad())},
       {getPrediction(), emit.all()},
       {getTarget(), emit.all()}},
      [&](Scalars s, ValueRange v) {
        Value grad =
            factor == 1.0 ? v[0] : s.mul(v[0], s.constant(factor, v[0]));
        return s.mul(grad, emitElementSlope(s, getKind(), v[1], v[2]));
      }));
  return success();
}
