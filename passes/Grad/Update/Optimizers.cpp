//===- Optimizers.cpp - Formulas of weight updates ------------------------===//
//
// All but the oldest are built of elementary ops, which fusion turns into one
// pass over all packs. Formulas are PyTorch's where it has the optimizer.
//
//===----------------------------------------------------------------------===//

#include "passes/Grad/Update/Optimizers.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

namespace {

/// Creates elementary ops.
struct Math {
  explicit Math(Update &update)
      : builder(update.builder), loc(update.loc),
        element(getElementTypeOrSelf(update.weights)) {}

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
  Value sqrt(Value a) { return train::SqrtOp::create(builder, loc, a); }
  Value scale(double factor, Value a) { return mul(number(factor), a); }
  /// beta old + (1 - beta) now
  Value mix(double beta, Value old, Value now) {
    return add(scale(beta, old), scale(1 - beta, now));
  }
  /// sqrt(square) + epsilon
  Value root(Value square, double epsilon) {
    return add(sqrt(square), number(epsilon));
  }

  OpBuilder &builder;
  Location loc;
  Type element;
};

} // namespace

static FloatAttr f32(Update &u, double value) {
  return u.builder.getF32FloatAttr(static_cast<float>(value));
}

/// The weight decay: [rows, 1], one number, or null if there is none.
static Value decayOf(Update &u, Math &m) {
  if (u.decay)
    return u.decay;
  return u.options.weightDecay == 0 ? Value() : m.number(u.options.weightDecay);
}

/// g + weight_decay w
static Value decayedGradient(Update &u, Math &m) {
  Value decay = decayOf(u, m);
  return decay ? m.add(u.gradients, m.mul(decay, u.weights)) : u.gradients;
}

/// w (1 - rate weight_decay)
static Value decayedWeight(Update &u, Math &m) {
  Value decay = decayOf(u, m);
  if (!decay)
    return u.weights;
  Value kept = m.sub(m.number(1), m.mul(u.rate, decay));
  return m.mul(u.weights, kept);
}

/// 1 - beta^(step + 1), or 1 if the bias is not corrected.
static Value correctionOf(Update &u, Math &m, double beta) {
  if (!u.options.correctBias)
    return m.number(1);
  return train::BiasCorrectionOp::create(
      u.builder, u.loc, RankedTensorType::get({}, m.element), u.step,
      u.builder.getF64FloatAttr(beta));
}

//===----------------------------------------------------------------------===//
// Gradient descent
//===----------------------------------------------------------------------===//

static Value buildSgd(Update &u) {
  Math m(u);
  double decay = u.decay ? 0 : u.options.weightDecay;
  Value gradients = u.decay ? decayedGradient(u, m) : u.gradients;
  return train::SgdOp::create(u.builder, u.loc, u.weights, gradients, u.rate,
                              f32(u, decay));
}

static constexpr OptimizerState kVelocity = {StateRole::Optimizer,
                                             "momentum.velocity"};

static Value buildMomentum(Update &u) {
  Math m(u);
  double decay = u.decay ? 0 : u.options.weightDecay;
  Value gradients = u.decay ? decayedGradient(u, m) : u.gradients;
  auto update = train::MomentumOp::create(
      u.builder, u.loc, u.weights, gradients, u.readPack(kVelocity), u.rate,
      f32(u, u.options.momentum), f32(u, decay),
      u.options.nesterov ? u.builder.getUnitAttr() : UnitAttr());
  u.write(kVelocity, update.getNewVelocity());
  return update.getNewWeight();
}

//===----------------------------------------------------------------------===//
// Adam and its kin
//===----------------------------------------------------------------------===//

static constexpr OptimizerState kFirstMoment = {StateRole::FirstMoment,
                                                "adam.first_moment"};
static constexpr OptimizerState kSecondMoment = {StateRole::SecondMoment,
                                                 "adam.second_moment"};

template <bool decoupled> static Value buildAdam(Update &u) {
  Math m(u);
  // If groups differ in their decay, it is applied outside the op.
  Value weights = u.weights, gradients = u.gradients;
  double decay = u.decay ? 0 : u.options.weightDecay;
  if (u.decay && decoupled)
    weights = decayedWeight(u, m);
  else if (u.decay)
    gradients = decayedGradient(u, m);
  Value first = u.readPack(kFirstMoment), second = u.readPack(kSecondMoment);
  Value correction1 = correctionOf(u, m, u.options.beta1);
  Value correction2 = correctionOf(u, m, u.options.beta2);
  auto update = train::AdamOp::create(
      u.builder, u.loc, weights, gradients, first, second, u.rate, correction1,
      correction2, f32(u, u.options.beta1), f32(u, u.options.beta2),
      f32(u, u.options.epsilon), f32(u, decay),
      decoupled ? u.builder.getUnitAttr() : UnitAttr());
  u.write(kFirstMoment, update.getNewFirstMoment());
  u.write(kSecondMoment, update.getNewSecondMoment());
  return update.getNewWeight();
}

namespace {
struct Moments {
  Value first, second;
};
} // namespace

/// Returns beta1 m + (1 - beta1) g and beta2 v + (1 - beta2) g^2, and writes
/// them to the states.
static Moments nextMoments(Update &u, Math &m, Value gradients) {
  Moments next;
  next.first = m.mix(u.options.beta1, u.readPack(kFirstMoment), gradients);
  next.second = m.mix(u.options.beta2, u.readPack(kSecondMoment),
                      m.mul(gradients, gradients));
  u.write(kFirstMoment, next.first);
  u.write(kSecondMoment, next.second);
  return next;
}

/// AdamW as in earlier versions of Hugging Face's transformers, and the default
/// of ONNX Runtime: epsilon is added before bias correction, and weights decay
/// after the update.
///   w1 = w - lr sqrt(correction2) / correction1 * m' / (sqrt(v') + epsilon)
///   w' = w1 - lr decay w1
/// Source: orttraining/.../optimizer/adamw, adam_mode 1.
static Value buildHfAdamW(Update &u) {
  Math m(u);
  Value correction1 = correctionOf(u, m, u.options.beta1);
  Value correction2 = correctionOf(u, m, u.options.beta2);
  Moments next = nextMoments(u, m, u.gradients);
  Value ratio = m.div(m.sqrt(correction2), correction1);
  Value step = m.div(m.mul(m.mul(u.rate, ratio), next.first),
                     m.root(next.second, u.options.epsilon));
  Value updated = m.sub(u.weights, step);
  Value decay = decayOf(u, m);
  return decay ? m.sub(updated, m.mul(m.mul(u.rate, decay), updated)) : updated;
}

/// Adam with Nesterov's momentum, as torch.optim.NAdam with its momentum_decay
/// of 0.004:
///   mu_t = beta1 (1 - 0.96^(0.004 t) / 2),  p_t = p_(t-1) mu_t
///   w' = w - lr ((1 - mu_t) / (1 - p_t) g + mu_(t+1) / (1 - p_t mu_(t+1)) m')
///            / (sqrt(v' / correction2) + epsilon)
/// Source: Dozat, Incorporating Nesterov Momentum into Adam, 2016.
static Value buildNAdam(Update &u) {
  Math m(u);
  constexpr OptimizerState kProduct = {StateRole::OptimizerNumber,
                                       "nadam.momentum_product"};
  Value time =
      train::CastOp::create(u.builder, u.loc, u.step, TypeAttr::get(m.element));
  auto momentumAt = [&](double ahead) {
    Value exponent =
        m.scale(0.004 * std::log(0.96), m.add(time, m.number(ahead)));
    Value power = train::ExpOp::create(u.builder, u.loc, exponent);
    return m.scale(u.options.beta1, m.sub(m.number(1), m.scale(0.5, power)));
  };
  Value now = momentumAt(1), then = momentumAt(2);
  Value product = m.mul(u.readNumber(kProduct, 1), now);
  u.write(kProduct, product);
  Value correction2 = correctionOf(u, m, u.options.beta2);
  Value gradients = decayedGradient(u, m);
  Moments next = nextMoments(u, m, gradients);
  Value one = m.number(1);
  Value ofGradient = m.div(m.sub(one, now), m.sub(one, product));
  Value ofMoment = m.div(then, m.sub(one, m.mul(product, then)));
  Value divisor = m.root(m.div(next.second, correction2), u.options.epsilon);
  Value direction =
      m.add(m.mul(ofGradient, gradients), m.mul(ofMoment, next.first));
  return m.sub(u.weights, m.mul(u.rate, m.div(direction, divisor)));
}

/// Steps of one size, by the sign of a moment.
///   w' = w - lr (sign(beta1 m + (1 - beta1) g) + decay w)
///   m' = beta2 m + (1 - beta2) g
/// Source: Chen et al., Symbolic Discovery of Optimization Algorithms, 2023.
static Value buildLion(Update &u) {
  Math m(u);
  constexpr OptimizerState kMoment = {StateRole::Optimizer, "lion.moment"};
  Value moment = u.readPack(kMoment);
  Value direction = train::SignOp::create(
      u.builder, u.loc, m.mix(u.options.beta1, moment, u.gradients));
  u.write(kMoment, m.mix(u.options.beta2, moment, u.gradients));
  if (Value decay = decayOf(u, m))
    direction = m.add(direction, m.mul(decay, u.weights));
  return m.sub(u.weights, m.mul(u.rate, direction));
}

/// Adam's direction, including decay, scaled to the norm of each parameter.
///   r = m' / correction1 / (sqrt(v' / correction2) + epsilon) + decay w
///   w' = w - lr (|w| / |r|, 1 where either is 0) r
/// Source: You et al., Large Batch Optimization for Deep Learning, 2020,
/// without limits of |w|.
static Value buildLamb(Update &u) {
  Math m(u);
  Value correction1 = correctionOf(u, m, u.options.beta1);
  Value correction2 = correctionOf(u, m, u.options.beta2);
  Moments next = nextMoments(u, m, u.gradients);
  Value divisor = m.root(m.div(next.second, correction2), u.options.epsilon);
  Value direction = m.div(m.div(next.first, correction1), divisor);
  if (Value decay = decayOf(u, m))
    direction = m.add(direction, m.mul(decay, u.weights));
  Value length = u.normByParameter(u.weights);
  Value own = u.normByParameter(direction);
  auto isZero = [&](Value value) -> Value {
    return train::CompareOp::create(u.builder, u.loc, value, m.number(0),
                                    train::Comparison::Equal);
  };
  auto orOne = [&](Value condition, Value value) -> Value {
    return train::SelectOp::create(u.builder, u.loc, condition, m.number(1),
                                   value);
  };
  Value trust = orOne(isZero(length), orOne(isZero(own), m.div(length, own)));
  return m.sub(u.weights, m.mul(m.mul(u.rate, trust), direction));
}

//===----------------------------------------------------------------------===//
// Sums of squares
//===----------------------------------------------------------------------===//

/// s' = s + g^2;  w' = w - lr g / (sqrt(s') + epsilon)
/// Source: torch.optim.Adagrad; Duchi et al., Adaptive Subgradient Methods.
static Value buildAdagrad(Update &u) {
  Math m(u);
  constexpr OptimizerState kSum = {StateRole::Optimizer, "adagrad.sum"};
  Value gradients = decayedGradient(u, m);
  Value sum = m.add(u.readPack(kSum), m.mul(gradients, gradients));
  u.write(kSum, sum);
  Value direction = m.div(gradients, m.root(sum, u.options.epsilon));
  return m.sub(u.weights, m.mul(u.rate, direction));
}

/// s' = alpha s + (1 - alpha) g^2;  d = g / (sqrt(s') + epsilon)
/// w' = w - lr d, or with momentum: b' = momentum b + d;  w' = w - lr b'
/// Source: torch.optim.RMSprop, not centered.
static Value buildRmsprop(Update &u) {
  Math m(u);
  constexpr OptimizerState kSquare = {StateRole::Optimizer, "rmsprop.square"},
                           kBuffer = {StateRole::Optimizer, "rmsprop.velocity"};
  Value gradients = decayedGradient(u, m);
  Value square =
      m.mix(u.options.alpha, u.readPack(kSquare), m.mul(gradients, gradients));
  u.write(kSquare, square);
  Value direction = m.div(gradients, m.root(square, u.options.epsilon));
  if (u.options.momentum != 0) {
    direction =
        m.add(m.scale(u.options.momentum, u.readPack(kBuffer)), direction);
    u.write(kBuffer, direction);
  }
  return m.sub(u.weights, m.mul(u.rate, direction));
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

const Optimizer *mpc::findOptimizer(StringRef name) {
  static const Optimizer rows[] = {
#define MPC_OPTIMIZER(NAME, TAKES, BUILD, ALIGNS) {NAME, BUILD, ALIGNS},
#include "passes/Grad/Update/Optimizers.def"
  };
  const auto *row = llvm::find_if(
      rows, [&](const Optimizer &optimizer) { return optimizer.name == name; });
  return row == std::end(rows) ? nullptr : row;
}
