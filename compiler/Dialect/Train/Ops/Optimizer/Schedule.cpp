//===- Schedule.cpp - Learning rate schedules -----------------------------===//
//
// Everything is computed in f64: near the end of a schedule the rate is a
// difference of similar numbers, and f32 does not represent step counts beyond
// 2^24.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/ScalarMath.h"

#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

MPC_OP_FACTS(ScheduledRateOp, Sensitive, 40, "counts steps")

static LogicalResult inferTypes(ScheduledRateOp::Adaptor op,
                                const OpError &error,
                                SmallVectorImpl<Type> &types) {
  for (Value operand : op.getOperands())
    if (!shapeOf(operand).empty()) // update_c2
      return error("scalars must have rank 0, but one is ", operand.getType());
  types.push_back(op.getOperands()[0].getType());
  return success();
}
MPC_INFER(ScheduledRateOp, inferTypes)

// scheduled_rate_c1; written so that NaN fails.
LogicalResult ScheduledRateOp::verify() {
  auto check = [&](StringRef name, FloatAttr attr, double least,
                   StringRef rule) -> LogicalResult {
    double number = attr.getValueAsDouble();
    if (number >= least && std::isfinite(number))
      return success();
    return emitOpError() << "'" << name << "' must be " << rule << ", but is "
                         << attr;
  };
  constexpr double kTiny = std::numeric_limits<double>::min();
  constexpr StringLiteral kZero = "at least 0", kPositive = "positive";
  return success(
      succeeded(check("warmup", getWarmupAttr(), 0, kZero)) &&
      succeeded(check("minimum", getMinimumAttr(), 0, kZero)) &&
      succeeded(check("gamma", getGammaAttr(), kTiny, kPositive)) &&
      succeeded(check("period", getPeriodAttr(), kTiny, kPositive)) &&
      succeeded(check("factor", getFactorAttr(), 1, "at least 1")) &&
      succeeded(check("power", getPowerAttr(), kTiny, kPositive)));
}

namespace {

/// Builds the f64 formulas of one schedule.
class Schedule {
public:
  Schedule(ScheduledRateOp op, OpBuilder &builder, Location loc, Value rate,
           Value step, Value total)
      : op(op), m(builder, loc) {
    Type f64 = builder.getF64Type();
    base = convertFloat(builder, loc, rate, f64);
    this->step = arith::SIToFPOp::create(builder, loc, f64, step);
    this->total = arith::SIToFPOp::create(builder, loc, f64, total);
    double warmup = op.getWarmup().convertToDouble();
    warm = warmup < 1 ? m.mul(number(warmup), this->total) : number(warmup);
  }

  Value emit() {
    if (op.getSchedule() == RateSchedule::OneCycle)
      return withTotal(emitOneCycle());
    bool isRatio = op.getWarmup().convertToDouble() < 1 && !isZeroWarmup();
    Value behind = emitBehindWarmup();
    if (isZeroWarmup())
      return behind;
    Value one = number(1);
    Value rising = m.div(m.mul(base, m.add(step, one)), m.add(warm, one));
    Value rate = m.select(m.compare(arith::CmpFPredicate::OLT, step, warm),
                          rising, behind);
    return isRatio ? withTotal(rate) : rate;
  }

private:
  Value number(double value) { return m.constant(value, base); }
  bool isZeroWarmup() { return op.getWarmup().isZero(); }
  Value clamp(Value value) { return m.min(m.max(value, number(0)), number(1)); }
  /// NaN if the total number of steps is not known.
  Value withTotal(Value rate) {
    Value isKnown = m.compare(arith::CmpFPredicate::OGT, total, number(0));
    return m.select(isKnown, rate,
                    number(std::numeric_limits<double>::quiet_NaN()));
  }

  /// The number of steps after the warm-up.
  Value time() { return m.max(m.sub(step, warm), number(0)); }
  /// The fraction of the steps after the warm-up that has passed.
  Value progress() {
    Value length = m.max(m.sub(total, warm), number(1));
    return clamp(m.div(time(), length));
  }
  /// Interpolates between the minimum, at 0, and the rate, at 1.
  Value between(Value share) {
    Value least = number(op.getMinimum().convertToDouble());
    return m.add(least, m.mul(m.sub(base, least), share));
  }
  Value atLeastMinimum(Value rate) {
    return m.max(rate, number(op.getMinimum().convertToDouble()));
  }
  /// (1 + cos(pi x)) / 2
  Value halfCosine(Value x) {
    Value cosine = m.cos(m.mul(number(M_PI), x));
    return m.mul(number(0.5), m.add(number(1), cosine));
  }
  Value power(double base, Value exponent) {
    return m.exp(m.mul(number(std::log(base)), exponent));
  }

  Value emitBehindWarmup() {
    double gamma = op.getGamma().convertToDouble();
    double period = op.getPeriod().convertToDouble();
    switch (op.getSchedule()) {
    case RateSchedule::Constant:
      return base;
    case RateSchedule::Linear:
      return withTotal(between(m.sub(number(1), progress())));
    case RateSchedule::Cosine:
      return withTotal(between(halfCosine(progress())));
    case RateSchedule::Polynomial: {
      Value rest = m.sub(number(1), progress());
      double exponent = op.getPower().convertToDouble();
      if (exponent != 1) {
        Value isOver = m.compare(arith::CmpFPredicate::OLE, rest, number(0));
        rest = m.select(isOver, number(0),
                        m.exp(m.mul(number(exponent), m.log(rest))));
      }
      return withTotal(between(rest));
    }
    case RateSchedule::Step: {
      Value times = m.floor(m.div(time(), number(period)));
      return atLeastMinimum(m.mul(base, power(gamma, times)));
    }
    case RateSchedule::Exponential:
      return atLeastMinimum(m.mul(base, power(gamma, time())));
    case RateSchedule::CosineRestarts:
      return between(halfCosine(emitTimeInPeriod(period)));
    case RateSchedule::OneCycle:
      break;
    }
    llvm_unreachable("all schedules handled");
  }

  /// The fraction of the current period that has passed. Period n begins at p
  /// (factor^n - 1) / (factor - 1) and has p factor^n steps.
  Value emitTimeInPeriod(double period) {
    double factor = op.getFactor().convertToDouble();
    Value periods = m.div(time(), number(period));
    if (factor == 1)
      return m.sub(periods, m.floor(periods));
    Value grown = m.add(m.mul(periods, number(factor - 1)), number(1));
    // At the start of a period the logarithm is an integer, except for
    // rounding.
    Value count = m.floor(
        m.add(m.mul(m.log(grown), number(1 / std::log(factor))), number(1e-9)));
    Value length = power(factor, count);
    Value begin = m.mul(m.sub(length, number(1)), number(1 / (factor - 1)));
    return clamp(m.div(m.sub(periods, begin), length));
  }

  Value emitOneCycle() {
    Value one = number(1);
    Value first = m.mul(base, number(1.0 / 25));
    Value last = m.mul(first, number(1e-4));
    Value peak = m.sub(warm, one), end = m.sub(total, one);
    auto anneal = [&](Value from, Value to, Value share) {
      return m.add(to, m.mul(m.sub(from, to), halfCosine(clamp(share))));
    };
    Value rising = anneal(first, base, m.div(step, m.max(peak, number(1e-9))));
    Value length = m.max(m.sub(end, peak), number(1e-9));
    Value falling = anneal(base, last, m.div(m.sub(step, peak), length));
    Value rises = m.compare(arith::CmpFPredicate::OLE, step, peak);
    return m.select(rises, rising, falling);
  }

  ScheduledRateOp op;
  ScalarMath m;
  Value base, step, total, warm;
};

} // namespace

LogicalResult ScheduledRateOp::lowerToLinalg(OpBuilder &builder,
                                             SmallVectorImpl<Value> &results) {
  results = emitElementwise(
      builder, getLoc(), getOperation()->getResultTypes(), getOperands(),
      [&](OpBuilder &inner, Location loc, ValueRange x) -> SmallVector<Value> {
        Schedule schedule(*this, inner, loc, x[0], x[1], x[2]);
        return {schedule.emit()};
      });
  return success();
}
