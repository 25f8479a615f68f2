//===- Optimizer.cpp - Weight updates -------------------------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/ScalarMath.h"

#include <charconv>
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

MPC_OP_FACTS(SgdOp, Sensitive, 4 * countElements(getWeight()),
             "small updates vanish in 16-bit weights")
MPC_OP_FACTS(MomentumOp, Sensitive, 6 * countElements(getWeight()),
             "small updates vanish in 16-bit weights")
MPC_OP_FACTS(
    AdamOp, Sensitive, 14 * countElements(getWeight()),
    "small updates vanish in 16-bit weights, squares in 16-bit moments")
MPC_OP_FACTS(BiasCorrectionOp, Sensitive, 13, "counts steps")
MPC_OP_FACTS(IncrementOp, Sensitive, 0, "counts steps")
MPC_OP_FACTS(GlobalNormOp, Sensitive, 2 * countElements(getPacked()),
             "a long sum of squares")
MPC_OP_FACTS(ClipFactorOp, Sensitive, 3, "a ratio of long sums")
MPC_OP_FACTS(LossShareOp, Sensitive, 2, "a sum of losses")
MPC_OP_FACTS(MeanFactorOp, Sensitive, 1, "a ratio of long sums")

/// The decimal number that a float attribute was written as: 0.999 rather than
/// the nearest f32, whose distance from 1 has a relative error of 1e-5.
static double decimal(const APFloat &value) {
  char digits[32]; // The shortest text that gives the same float.
  char *end = std::to_chars(std::begin(digits), std::end(digits),
                            value.convertToFloat())
                  .ptr;
  double result = 0;
  std::from_chars(digits, end, result);
  return result;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// The first `numPacked` operands have one shape; the others are scalars,
/// except that the first of them may be [rows, 1].
static LogicalResult checkUpdate(ValueRange operands, size_t numPacked,
                                 const OpError &error) {
  for (Value packed : operands.take_front(numPacked))
    if (!haveSameShapes(packed.getType(), operands[0].getType())) // update_c1
      return error("packed tensors must have one shape, but are ",
                   operands[0].getType(), " and ", packed.getType());
  auto isColumn = [&](Value rate) {
    if (numPacked == 0 || rate != operands[numPacked])
      return false;
    ArrayRef<int64_t> pack = shapeOf(operands[0]), shape = shapeOf(rate);
    return pack.size() == 2 && shape == ArrayRef<int64_t>({pack[0], 1});
  };
  for (Value scalar : operands.drop_front(numPacked))
    if (!shapeOf(scalar).empty() && !isColumn(scalar)) // update_c2
      return error("scalars must have rank 0, but one is ", scalar.getType());
  return success();
}

static LogicalResult inferTypes(SgdOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ValueRange operands = op.getOperands();
  types.push_back(operands[0].getType());
  return checkUpdate(operands, 2, error);
}

static LogicalResult inferTypes(MomentumOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ValueRange operands = op.getOperands();
  types.append({operands[0].getType(), operands[2].getType()});
  return checkUpdate(operands, 3, error);
}

static LogicalResult inferTypes(AdamOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ValueRange operands = op.getOperands();
  types.append(
      {operands[0].getType(), operands[2].getType(), operands[3].getType()});
  return checkUpdate(operands, 4, error);
}

static LogicalResult inferTypes(BiasCorrectionOp::Adaptor op,
                                const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ValueRange operands = op.getOperands();
  types.push_back(
      RankedTensorType::get({}, Float32Type::get(operands[0].getContext())));
  return checkUpdate(operands, 0, error);
}

template <typename Adaptor>
static LogicalResult inferScalar(Adaptor op, const OpError &error,
                                 SmallVectorImpl<Type> &types) {
  ValueRange operands = op.getOperands();
  types.push_back(operands[0].getType());
  return checkUpdate(operands, 0, error);
}

static LogicalResult inferTypes(GlobalNormOp::Adaptor op, const OpError &,
                                SmallVectorImpl<Type> &types) {
  types.push_back(cast<RankedTensorType>(op.getOperands()[0].getType())
                      .clone(ArrayRef<int64_t>()));
  return success();
}

MPC_INFER(SgdOp, inferTypes)
MPC_INFER(MomentumOp, inferTypes)
MPC_INFER(AdamOp, inferTypes)
MPC_INFER(BiasCorrectionOp, inferTypes)
MPC_INFER(IncrementOp, inferScalar)
MPC_INFER(GlobalNormOp, inferTypes)
MPC_INFER(ClipFactorOp, inferScalar)
MPC_INFER(LossShareOp, inferScalar)
MPC_INFER(MeanFactorOp, inferScalar)

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

// These checks are written so that NaN fails.
static bool isDecay(double beta) { return beta >= 0 && beta < 1; }

LogicalResult AdamOp::verify() {
  if (!isDecay(getBeta1().convertToFloat())) // adam_c1
    return emitOpError("'beta1' must lie in [0, 1), but is ") << getBeta1Attr();
  if (!isDecay(getBeta2().convertToFloat())) // adam_c1
    return emitOpError("'beta2' must lie in [0, 1), but is ") << getBeta2Attr();
  if (!(getEpsilon().convertToFloat() >= 0)) // adam_c2
    return emitOpError("'epsilon' must be at least 0, but is ")
           << getEpsilonAttr();
  return success();
}

LogicalResult BiasCorrectionOp::verify() {
  if (!isDecay(getBeta().convertToDouble())) // bias_correction_c1
    return emitOpError("'beta' must lie in [0, 1), but is ") << getBetaAttr();
  return success();
}

LogicalResult ClipFactorOp::verify() {
  if (!(getMaxNorm().convertToFloat() > 0)) // clip_factor_c1
    return emitOpError("'max_norm' must be positive, but is ")
           << getMaxNormAttr();
  return success();
}

template <typename Op> static LogicalResult verifyTerms(Op op) {
  if (!(op.getTerms().convertToDouble() > 0)) // loss_share_c1, mean_factor_c1
    return op.emitOpError("'terms' must be positive, but is ")
           << op.getTermsAttr();
  return success();
}
LogicalResult LossShareOp::verify() { return verifyTerms(*this); }
LogicalResult MeanFactorOp::verify() { return verifyTerms(*this); }

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

/// Emits one pass over all packed tensors; the other operands are one number
/// for the pass, or one per row.
static LogicalResult
lowerUpdate(Operation *op, OpBuilder &builder, SmallVectorImpl<Value> &results,
            function_ref<SmallVector<Value>(ScalarMath &, ValueRange)> update) {
  results = emitElementwise(builder, op->getLoc(), op->getResultTypes(),
                            op->getOperands(),
                            [&](OpBuilder &inner, Location loc, ValueRange x) {
                              ScalarMath math(inner, loc);
                              return update(math, x);
                            });
  return success();
}

/// g + weight_decay w.
static Value decayedGradient(ScalarMath &m, Value grad, Value weight,
                             const APFloat &weightDecay) {
  if (weightDecay.isZero())
    return grad;
  Value decay = m.constant(decimal(weightDecay), weight);
  return m.add(grad, m.mul(decay, weight));
}

LogicalResult SgdOp::lowerToLinalg(OpBuilder &builder,
                                   SmallVectorImpl<Value> &results) {
  return lowerUpdate(*this, builder, results,
                     [&](ScalarMath &m, ValueRange x) -> SmallVector<Value> {
                       Value weight = x[0], grad = x[1], learningRate = x[2];
                       grad =
                           decayedGradient(m, grad, weight, getWeightDecay());
                       return {m.sub(weight, m.mul(learningRate, grad))};
                     });
}

LogicalResult MomentumOp::lowerToLinalg(OpBuilder &builder,
                                        SmallVectorImpl<Value> &results) {
  return lowerUpdate(
      *this, builder, results,
      [&](ScalarMath &m, ValueRange x) -> SmallVector<Value> {
        Value weight = x[0], grad = x[1], velocity = x[2], learningRate = x[3];
        Value momentum = m.constant(decimal(getMomentum()), weight);
        grad = decayedGradient(m, grad, weight, getWeightDecay());
        velocity = m.add(m.mul(momentum, velocity), grad);
        Value direction =
            getNesterov() ? m.add(grad, m.mul(momentum, velocity)) : velocity;
        return {m.sub(weight, m.mul(learningRate, direction)), velocity};
      });
}

LogicalResult AdamOp::lowerToLinalg(OpBuilder &builder,
                                    SmallVectorImpl<Value> &results) {
  double beta1 = decimal(getBeta1()), beta2 = decimal(getBeta2());
  return lowerUpdate(
      *this, builder, results,
      [&](ScalarMath &m, ValueRange x) -> SmallVector<Value> {
        Value weight = x[0], grad = x[1], first = x[2], second = x[3];
        Value learningRate = x[4], correction1 = x[5], correction2 = x[6];
        if (!getDecoupled())
          grad = decayedGradient(m, grad, weight, getWeightDecay());
        first = m.add(m.mul(m.constant(beta1, weight), first),
                      m.mul(m.constant(1 - beta1, weight), grad));
        second = m.add(m.mul(m.constant(beta2, weight), second),
                       m.mul(m.constant(1 - beta2, weight), m.mul(grad, grad)));

        // Computations on scalars alone are separate, so that they are hoisted
        // and the loop has one division and one root.
        Value rate = m.div(learningRate, correction1);
        Value scale = m.div(m.constant(1, weight), m.sqrt(correction2));
        Value denominator = m.add(m.mul(m.sqrt(second), scale),
                                  m.constant(decimal(getEpsilon()), weight));
        Value kept = weight;
        if (getDecoupled() && !getWeightDecay().isZero()) {
          Value decay = m.mul(learningRate,
                              m.constant(decimal(getWeightDecay()), weight));
          kept = m.mul(weight, m.sub(m.constant(1, weight), decay));
        }
        Value update = m.div(m.mul(rate, first), denominator);
        return {m.sub(kept, update), first, second};
      });
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

LogicalResult BiasCorrectionOp::lowerToLinalg(OpBuilder &builder,
                                              SmallVectorImpl<Value> &results) {
  double beta = getBeta().convertToDouble();
  results = emitElementwise(
      builder, getLoc(), getOperation()->getResultTypes(), getStep(),
      [&](OpBuilder &inner, Location loc, ValueRange x) -> SmallVector<Value> {
        ScalarMath m(inner, loc);
        Type f64 = inner.getF64Type();
        Value one = constantFloat(inner, loc, f64, 1);
        if (beta == 0)
          return {one};
        // beta^(step + 1) = exp((step + 1) log(beta)).
        Value step = arith::SIToFPOp::create(inner, loc, f64, x[0]);
        Value exponent =
            m.mul(m.add(step, one), m.constant(std::log(beta), one));
        return {m.sub(one, m.exp(exponent))};
      });
  return success();
}

LogicalResult IncrementOp::lowerToLinalg(OpBuilder &builder,
                                         SmallVectorImpl<Value> &results) {
  results = emitElementwise(
      builder, getLoc(), getOperation()->getResultTypes(), getStep(),
      [](OpBuilder &inner, Location loc, ValueRange x) -> SmallVector<Value> {
        Value one = arith::ConstantOp::create(
            inner, loc, inner.getIntegerAttr(x[0].getType(), 1));
        return {arith::AddIOp::create(inner, loc, x[0], one)};
      });
  return success();
}

LogicalResult GlobalNormOp::lowerToLinalg(OpBuilder &builder,
                                          SmallVectorImpl<Value> &results) {
  Location loc = getLoc();
  RankedTensorType type = getPacked().getType();
  // Uses f64, in which squares of finite gradients neither overflow nor
  // underflow. Sums within rows, then over rows: the order is fixed.
  Value squares = getPacked();
  bool squared = false;
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    squares = emitReduction(
        builder, loc, type.getShape().take_front(axis + 1), axis, Combiner::Sum,
        squares, allDims(squares),
        [&](OpBuilder &inner, Location loc, ValueRange x) {
          return SmallVector<Value>{
              squared ? x[0] : ScalarMath(inner, loc).mul(x[0], x[0])};
        },
        builder.getF64Type())[0];
    squared = true;
  }
  results = emitElementwise(
      builder, loc, getOperation()->getResultTypes(), squares,
      [&](OpBuilder &inner, Location loc, ValueRange x) {
        ScalarMath m(inner, loc);
        return SmallVector<Value>{squared ? m.sqrt(x[0]) : m.abs(x[0])};
      });
  return success();
}

LogicalResult ClipFactorOp::lowerToLinalg(OpBuilder &builder,
                                          SmallVectorImpl<Value> &results) {
  results = emitElementwise(
      builder, getLoc(), getOperation()->getResultTypes(), getNorm(),
      [&](OpBuilder &inner, Location loc, ValueRange x) {
        ScalarMath m(inner, loc);
        Value factor = m.div(m.constant(decimal(getMaxNorm()), x[0]),
                             m.add(x[0], m.constant(1e-6, x[0])));
        return SmallVector<Value>{m.min(m.constant(1, x[0]), factor)};
      });
  return success();
}

/// `value` if the divisor is not 0, else 0.
static Value zeroWithout(ScalarMath &m, Value divisor, Value value) {
  Value zero = m.constant(0, value);
  Value isZero = m.compare(arith::CmpFPredicate::OEQ, divisor, zero);
  return m.select(isZero, zero, value);
}

LogicalResult LossShareOp::lowerToLinalg(OpBuilder &builder,
                                         SmallVectorImpl<Value> &results) {
  double share = 1 / getTerms().convertToDouble();
  results = emitElementwise(
      builder, getLoc(), getOperation()->getResultTypes(), getOperands(),
      [&](OpBuilder &inner, Location loc, ValueRange x) {
        ScalarMath m(inner, loc);
        Value weight = m.mul(x[1], m.constant(share, x[1]));
        return SmallVector<Value>{zeroWithout(m, x[1], m.mul(x[0], weight))};
      });
  return success();
}

LogicalResult MeanFactorOp::lowerToLinalg(OpBuilder &builder,
                                          SmallVectorImpl<Value> &results) {
  double terms = getTerms().convertToDouble();
  results = emitElementwise(
      builder, getLoc(), getOperation()->getResultTypes(), getDivisor(),
      [&](OpBuilder &inner, Location loc, ValueRange x) {
        ScalarMath m(inner, loc);
        Value factor = m.div(m.constant(terms, x[0]), x[0]);
        return SmallVector<Value>{zeroWithout(m, x[0], factor)};
      });
  return success();
}
