//===- LossFormulas.cpp - Build losses ------------------------------------===//
//
// The formulas start from a loss op of the dialect, from an exponential or from
// a product with the target. Precision assignment computes these in f32, and
// therefore all that follows, whatever the format of the prediction.
//
//===----------------------------------------------------------------------===//

#include "passes/Grad/Loss/LossFormulas.h"

#include "compiler/Dialect/Train/Ops/Gradient.h"

using namespace mlir;
using namespace mpc;
using train::ElementLoss;
using train::LossReduction;

// Lower bound of the base of a power, whose derivative is infinite at 0 for
// exponents below 1.
static constexpr double kSmallestBase = 1e-30;

// Lower bound of norms: `eps` of torch.nn.CosineSimilarity.
static constexpr double kSmallestNorm = 1e-8;

// `eps` of torch.nn.GaussianNLLLoss.
static constexpr double kSmallestVariance = 1e-6;

// `eps` of torch.nn.TripletMarginLoss.
static constexpr double kDistanceEpsilon = 1e-6;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> allDims(Value value) {
  return llvm::to_vector(llvm::seq<int64_t>(0, typeOf(value).getRank()));
}

Value mpc::sumAll(OpBuilder &builder, Location loc, Value value) {
  if (typeOf(value).getNumElements() == 1)
    return train::reshapeTo(builder, loc, value, {});
  return train::ReduceSumOp::create(builder, loc, value, allDims(value));
}

Value mpc::averageAll(OpBuilder &builder, Location loc, Value value) {
  if (typeOf(value).getNumElements() == 1)
    return train::reshapeTo(builder, loc, value, {});
  return train::ReduceMeanOp::create(builder, loc, value, allDims(value));
}

Value mpc::repeatNumber(OpBuilder &builder, Location loc, Type element,
                        double number, ArrayRef<int64_t> shape) {
  return train::BroadcastToOp::create(
      builder, loc, RankedTensorType::get(shape, element),
      createScalar(builder, loc, element, number));
}

Value mpc::spreadSamples(OpBuilder &builder, Location loc, Value samples,
                         ArrayRef<int64_t> shape) {
  int64_t count = typeOf(samples).getDimSize(0);
  SmallVector<int64_t> split(shape);
  if (split.front() != count) {
    split.front() /= count;
    split.insert(split.begin(), count);
  }
  SmallVector<int64_t> column(split.size(), 1);
  column.front() = count;
  Value result = train::reshapeTo(builder, loc, samples, column);
  if (column != split)
    result = train::BroadcastToOp::create(
        builder, loc, typeOf(samples).clone(ArrayRef<int64_t>(split)), result);
  return train::reshapeTo(builder, loc, result, shape);
}

Value mpc::sumPerSample(OpBuilder &builder, Location loc, Value value,
                        int64_t samples) {
  RankedTensorType type = typeOf(value);
  if (type.getRank() > 0 && type.getDimSize(0) > samples &&
      type.getDimSize(0) % samples == 0) {
    SmallVector<int64_t> shape(type.getShape());
    shape.front() /= samples;
    shape.insert(shape.begin(), samples);
    type = RankedTensorType::get(shape, type.getElementType());
    value = train::ReshapeOp::create(builder, loc, type, value);
  }
  if (type.getRank() == 0)
    return train::ReshapeOp::create(
        builder, loc, RankedTensorType::get({1}, type.getElementType()), value);
  if (type.getRank() == 1)
    return value;
  auto axes = llvm::to_vector(llvm::seq<int64_t>(1, type.getRank()));
  return train::ReduceSumOp::create(builder, loc, value, axes);
}

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

namespace {

/// Builds the losses of elements, rows or labels of one prediction.
class Formulas {
public:
  Formulas(OpBuilder &builder, Location loc, const Loss &loss)
      : builder(builder), loc(loc), loss(loss), target(loss.target),
        element(typeOf(loss.prediction).getElementType()) {}

  /// The losses without weights.
  Value build() {
    switch (loss.kind) {
    case LossKind::CrossEntropy:
    case LossKind::NegativeLogLikelihood:
      return ofLabels(LossReduction::None, /*weight=*/nullptr);
    case LossKind::MeanSquaredError:
    case LossKind::MeanAbsoluteError:
      return ofElements(LossReduction::None);
    case LossKind::BinaryCrossEntropyWithLogits:
      return loss.posWeight ? weighPositives()
                            : ofElements(LossReduction::None);
    case LossKind::Huber:
      return huber();
    case LossKind::SmoothL1:
      return scaled(huber(), 1 / loss.delta);
    case LossKind::SigmoidFocal:
      return sigmoidFocal();
    case LossKind::SoftmaxFocal:
      return softmaxFocal();
    case LossKind::KullbackLeibler:
      return kullbackLeibler();
    case LossKind::Cosine:
      return cosine();
    case LossKind::PoissonNegativeLogLikelihood:
      return poisson();
    case LossKind::GaussianNegativeLogLikelihood:
      return gaussian();
    case LossKind::Triplet:
      return triplet();
    }
    llvm_unreachable("all losses handled");
  }

  /// The op of the loss; null if it is a formula.
  Value buildOp(LossReduction reduction) {
    switch (loss.kind) {
    case LossKind::CrossEntropy:
    case LossKind::NegativeLogLikelihood:
      return ofLabels(reduction, loss.weight);
    case LossKind::MeanSquaredError:
    case LossKind::MeanAbsoluteError:
      return ofElements(reduction);
    case LossKind::BinaryCrossEntropyWithLogits:
      return loss.posWeight ? Value() : ofElements(reduction);
    default:
      return nullptr;
    }
  }

private:
  Value number(double value) {
    return createScalar(builder, loc, element, value);
  }
  Value add(Value a, Value b) {
    return train::AddOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) {
    return train::SubOp::create(builder, loc, a, b);
  }
  Value mul(Value a, Value b) {
    return train::MulOp::create(builder, loc, a, b);
  }
  Value div(Value a, Value b) {
    return train::DivOp::create(builder, loc, a, b);
  }
  Value scaled(Value a, double factor) {
    return factor == 1 ? a : mul(a, number(factor));
  }
  Value oneMinus(Value a) { return sub(number(1), a); }
  Value raisedToGamma(Value base) {
    Value bounded =
        train::MaximumOp::create(builder, loc, base, number(kSmallestBase));
    return train::PowOp::create(builder, loc, bounded, number(loss.gamma));
  }
  Value sumLast(Value value) {
    return train::ReduceSumOp::create(builder, loc, value,
                                      typeOf(value).getRank() - 1);
  }

  Value elementLoss(ElementLoss kind, Value prediction, Value target,
                    LossReduction reduction = LossReduction::None) {
    return train::ElementLossOp::create(builder, loc, prediction, target, kind,
                                        reduction);
  }
  Value compareWith(ElementLoss kind, double value) {
    return elementLoss(kind, loss.prediction,
                       repeatNumber(builder, loc, element, value,
                                    typeOf(loss.prediction).getShape()));
  }
  /// log(1 + exp(-x)) and log(1 + exp(x)): the losses of logits x with targets
  /// 1 and 0.
  Value lossIfPositive() {
    return compareWith(ElementLoss::BinaryCrossEntropyWithLogits, 1);
  }
  Value lossIfNegative() {
    return compareWith(ElementLoss::BinaryCrossEntropyWithLogits, 0);
  }

  Value ofElements(LossReduction reduction) {
    ElementLoss kind = loss.kind == LossKind::MeanSquaredError
                           ? ElementLoss::MeanSquaredError
                       : loss.kind == LossKind::MeanAbsoluteError
                           ? ElementLoss::MeanAbsoluteError
                           : ElementLoss::BinaryCrossEntropyWithLogits;
    return elementLoss(kind, loss.prediction, target, reduction);
  }

  Value ofLabels(LossReduction reduction, Value weight) {
    FloatAttr smoothing = loss.smoothing > 0
                              ? builder.getF64FloatAttr(loss.smoothing)
                              : FloatAttr();
    if (loss.kind == LossKind::NegativeLogLikelihood)
      return train::NllLossOp::create(builder, loc, loss.prediction, target,
                                      weight, reduction, loss.ignoredLabel,
                                      smoothing, /*classes=*/nullptr);
    return train::SoftmaxCrossEntropyOp::create(
        builder, loc, loss.prediction, target, weight, reduction,
        loss.ignoredLabel, smoothing, /*classes=*/nullptr);
  }

  /// torch.nn.BCEWithLogitsLoss(pos_weight):
  /// w t log(1 + exp(-x)) + (1 - t) log(1 + exp(x)), without differences of
  /// large numbers.
  Value weighPositives() {
    Value positive = mul(mul(target, loss.posWeight), lossIfPositive());
    return add(positive, mul(oneMinus(target), lossIfNegative()));
  }

  /// torch.nn.HuberLoss: d^2 / 2 up to an error d of delta, then
  /// delta (d - delta / 2). With c = min(d, delta), both are c (d - c / 2).
  Value huber() {
    Value error =
        elementLoss(ElementLoss::MeanAbsoluteError, loss.prediction, target);
    Value bounded =
        train::MinimumOp::create(builder, loc, error, number(loss.delta));
    return mul(bounded, sub(error, scaled(bounded, 0.5)));
  }

  /// torchvision.ops.sigmoid_focal_loss, of Lin et al., Focal Loss for Dense
  /// Object Detection, 2017: a (1 - p_t)^gamma bce, with the probability p_t of
  /// the target and a = alpha t + (1 - alpha) (1 - t). Computes
  /// 1 - p_t = p (1 - t) + (1 - p) t without cancellation.
  Value sigmoidFocal() {
    Value positive = lossIfPositive(), negative = lossIfNegative();
    Value others = oneMinus(target);
    auto probability = [&](Value loss) -> Value {
      return train::ExpOp::create(
          builder, loc, train::NegOp::create(builder, loc, loss).getResult());
    };
    Value missed = add(mul(others, probability(positive)),
                       mul(target, probability(negative)));
    Value entropy = add(mul(target, positive), mul(others, negative));
    Value result = mul(raisedToGamma(missed), entropy);
    if (!loss.alpha)
      return result;
    Value balance =
        add(scaled(target, *loss.alpha), scaled(others, 1 - *loss.alpha));
    return mul(balance, result);
  }

  /// The focal loss of softmax: (1 - p)^gamma l, with the probability
  /// p = exp(-l) of the label. 1 - exp(-l) = 2 tanh(l/2) / (1 + tanh(l/2))
  /// keeps its digits for small l.
  Value softmaxFocal() {
    Value entropy = ofLabels(LossReduction::None, /*weight=*/nullptr);
    Value half = train::TanhOp::create(builder, loc, scaled(entropy, 0.5));
    Value missed = div(scaled(half, 2), add(half, number(1)));
    return mul(raisedToGamma(missed), entropy);
  }

  /// torch.nn.KLDivLoss(reduction='batchmean') of log-softmax:
  /// sum(t log t - t log p) for each element of dimension 0; 0 log 0 is 0.
  Value kullbackLeibler() {
    Value logs = train::LogSoftmaxOp::create(builder, loc, loss.prediction,
                                             loss.classAxis);
    Value smallest = number(std::numeric_limits<float>::min());
    Value bounded = train::MaximumOp::create(builder, loc, target, smallest);
    Value own = mul(target, train::LogOp::create(builder, loc, bounded));
    Value losses = sub(own, mul(target, logs));
    auto axes =
        llvm::to_vector(llvm::seq<int64_t>(1, typeOf(losses).getRank()));
    return train::ReduceSumOp::create(builder, loc, losses, axes);
  }

  /// 1 - torch.nn.CosineSimilarity along the last dimension. Squares are those
  /// of the error against 0.
  Value cosine() {
    auto inverseNorm = [&](Value squares) {
      Value bounded =
          train::MaximumOp::create(builder, loc, sumLast(squares),
                                   number(kSmallestNorm * kSmallestNorm));
      return div(number(1), train::SqrtOp::create(builder, loc, bounded));
    };
    Value products = sumLast(mul(target, loss.prediction));
    Value own = inverseNorm(compareWith(ElementLoss::MeanSquaredError, 0));
    Value others = inverseNorm(mul(target, target));
    return oneMinus(mul(mul(products, own), others));
  }

  /// torch.nn.PoissonNLLLoss(log_input=True): exp(x) - t x.
  Value poisson() {
    Value rate = train::ExpOp::create(builder, loc, loss.prediction);
    return sub(rate, mul(target, loss.prediction));
  }

  /// torch.nn.GaussianNLLLoss: (log v + (x - t)^2 / v) / 2, with the variance v
  /// at least 1e-6.
  Value gaussian() {
    Value variance = train::MaximumOp::create(builder, loc, loss.others[0],
                                              number(kSmallestVariance));
    Value error =
        elementLoss(ElementLoss::MeanSquaredError, loss.prediction, target);
    Value scatter = train::LogOp::create(builder, loc, variance);
    return scaled(add(scatter, div(error, variance)), 0.5);
  }

  /// torch.nn.TripletMarginLoss: max(|x - p| - |x - n| + margin, 0), with 1e-6
  /// added to the differences.
  Value triplet() {
    auto distance = [&](Value other) -> Value {
      Value difference =
          add(sub(loss.prediction, other), number(kDistanceEpsilon));
      Value zeros =
          repeatNumber(builder, loc, element, 0, typeOf(other).getShape());
      Value squares =
          elementLoss(ElementLoss::MeanSquaredError, difference, zeros);
      return train::SqrtOp::create(builder, loc, sumLast(squares));
    };
    Value excess = add(sub(distance(loss.others[0]), distance(loss.others[1])),
                       number(loss.margin));
    // Unlike a maximum with 0, the derivative at 0 is 1, as in PyTorch.
    return train::ClipOp::create(
        builder, loc, excess, builder.getF64FloatAttr(0),
        builder.getF64FloatAttr(std::numeric_limits<float>::max()));
  }

  OpBuilder &builder;
  Location loc;
  const Loss &loss;
  Value target;
  Type element;
};

} // namespace

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// The weights of `losses` in the mean; null if all are 1.
static Value buildWeights(OpBuilder &builder, Location loc, const Loss &loss,
                          Value losses) {
  Value weights;
  if (loss.isClassification())
    weights = train::IsCountedOp::create(builder, loc, loss.target, loss.weight,
                                         loss.ignoredLabel);
  if (!loss.sampleWeights)
    return weights;
  Value spread = spreadSamples(builder, loc, loss.sampleWeights,
                               typeOf(losses).getShape());
  return weights ? Value(train::MulOp::create(builder, loc, spread, weights))
                 : spread;
}

LossElements mpc::buildElements(OpBuilder &builder, Location loc,
                                const Loss &loss) {
  Formulas formulas(builder, loc, loss);
  if (!loss.sampleWeights)
    if (Value losses = formulas.buildOp(LossReduction::None))
      return {losses, buildWeights(builder, loc, loss, losses)};
  Value losses = formulas.build();
  Value weights = buildWeights(builder, loc, loss, losses);
  if (weights)
    losses = train::MulOp::create(builder, loc, losses, weights);
  return {losses, weights};
}

Value mpc::buildMean(OpBuilder &builder, Location loc, const Loss &loss) {
  Formulas formulas(builder, loc, loss);
  if (!loss.sampleWeights)
    if (Value mean = formulas.buildOp(LossReduction::Mean))
      return mean;
  auto [losses, weights] = buildElements(builder, loc, loss);
  if (!weights)
    return averageAll(builder, loc, losses);
  return train::DivOp::create(builder, loc, sumAll(builder, loc, losses),
                              sumAll(builder, loc, weights));
}
