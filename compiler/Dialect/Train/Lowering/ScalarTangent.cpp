//===- ScalarTangent.cpp - Derivatives of formulas ------------------------===//

#include "compiler/Dialect/Train/Lowering/ScalarTangent.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mpc::train;

namespace {

/// Computes tangents. Null stands for zero, since most of a formula does not
/// depend on x.
class Tangents {
public:
  Tangents(ScalarMath &math, Value x) : m(math), x(x) {}

  Value of(Value value) {
    if (value == x)
      return m.constant(1, x);
    Operation *op = value.getDefiningOp();
    if (!op)
      return nullptr;
    auto [entry, isNew] = known.try_emplace(value);
    if (!isNew)
      return entry->second;
    Value tangent = compute(op, value);
    return known[value] = tangent;
  }

private:
  Value compute(Operation *op, Value result);
  Value sum(Value a, Value b) { return a && b ? m.add(a, b) : a ? a : b; }
  /// Zero (null) times an infinite slope is zero.
  Value times(Value tangent, function_ref<Value()> slope) {
    return tangent ? m.mul(tangent, slope()) : nullptr;
  }
  Value orZero(Value tangent) { return tangent ? tangent : m.constant(0, x); }
  /// The tangent of the selected operand.
  Value choose(Value condition, Value a, Value b) {
    Value ofA = of(a), ofB = of(b);
    return ofA || ofB ? m.select(condition, orZero(ofA), orZero(ofB)) : nullptr;
  }

  ScalarMath &m;
  Value x;
  llvm::DenseMap<Value, Value> known;
};

} // namespace

Value Tangents::compute(Operation *op, Value y) {
  auto one = [&] { return m.constant(1, x); };
  auto operand = [&](unsigned i) { return op->getOperand(i); };
  auto chain = [&](function_ref<Value(Value)> slope) {
    return times(of(operand(0)), [&] { return slope(operand(0)); });
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](arith::AddFOp) { return sum(of(operand(0)), of(operand(1))); })
      .Case([&](arith::SubFOp) {
        Value b = of(operand(1));
        return sum(of(operand(0)), b ? m.neg(b) : b);
      })
      .Case([&](arith::MulFOp) {
        return sum(times(of(operand(0)), [&] { return operand(1); }),
                   times(of(operand(1)), [&] { return operand(0); }));
      })
      .Case([&](arith::DivFOp) { // (a' - y b') / b
        Value b = times(of(operand(1)), [&] { return y; });
        Value difference = sum(of(operand(0)), b ? m.neg(b) : b);
        return difference ? m.div(difference, operand(1)) : nullptr;
      })
      .Case([&](arith::NegFOp) {
        Value a = of(operand(0));
        return a ? m.neg(a) : a;
      })
      .Case([&](arith::MaximumFOp) {
        return choose(
            m.compare(arith::CmpFPredicate::OGE, operand(0), operand(1)),
            operand(0), operand(1));
      })
      .Case([&](arith::MinimumFOp) {
        return choose(
            m.compare(arith::CmpFPredicate::OLE, operand(0), operand(1)),
            operand(0), operand(1));
      })
      .Case([&](arith::SelectOp select) {
        return choose(select.getCondition(), select.getTrueValue(),
                      select.getFalseValue());
      })
      .Case([&](math::FmaOp) {
        return sum(sum(times(of(operand(0)), [&] { return operand(1); }),
                       times(of(operand(1)), [&] { return operand(0); })),
                   of(operand(2)));
      })
      .Case([&](math::AbsFOp) {
        return chain([&](Value a) {
          Value isBelow =
              m.compare(arith::CmpFPredicate::OLT, a, m.constant(0, a));
          return m.select(isBelow, m.constant(-1, a), one());
        });
      })
      .Case([&](math::ExpOp) { return chain([&](Value) { return y; }); })
      .Case([&](math::Exp2Op) {
        return chain([&](Value) { return m.mul(m.constant(M_LN2, y), y); });
      })
      .Case([&](math::ExpM1Op) {
        return chain([&](Value) { return m.add(y, one()); });
      })
      .Case([&](math::LogOp) {
        return chain([&](Value a) { return m.div(one(), a); });
      })
      .Case([&](math::Log1pOp) {
        return chain([&](Value a) { return m.div(one(), m.add(one(), a)); });
      })
      .Case(
          [&](math::SinOp) { return chain([&](Value a) { return m.cos(a); }); })
      .Case([&](math::CosOp) {
        return chain([&](Value a) { return m.neg(m.sin(a)); });
      })
      .Case([&](math::AtanOp) {
        return chain(
            [&](Value a) { return m.div(one(), m.add(one(), m.mul(a, a))); });
      })
      .Case([&](math::ErfOp) {
        return chain([&](Value a) {
          return m.mul(m.constant(M_2_SQRTPI, a), m.exp(m.neg(m.mul(a, a))));
        });
      })
      .Case([&](math::SqrtOp) {
        return chain([&](Value) { return m.div(m.constant(0.5, y), y); });
      })
      .Case([&](math::TanhOp) {
        return chain([&](Value) { return m.sub(one(), m.mul(y, y)); });
      })
      .Case<math::FloorOp, math::CeilOp, math::RoundEvenOp, arith::ConstantOp>(
          [&](auto) { return nullptr; })
      .Default([](Operation *unknown) -> Value {
        llvm::report_fatal_error("no derivative of " +
                                 unknown->getName().getStringRef());
      });
}

Value mpc::train::tangentOf(ScalarMath &math, Value formula, Value x,
                            int64_t times) {
  for (; times > 0; --times) {
    Value tangent = Tangents(math, x).of(formula);
    formula = tangent ? tangent : math.constant(0, x);
  }
  return formula;
}
