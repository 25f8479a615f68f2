//===- ScalarMath.h - Builder of scalar formulas ----------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_LOWERING_SCALARMATH_H
#define MPC_COMPILER_DIALECT_TRAIN_LOWERING_SCALARMATH_H

#include "compiler/Dialect/Train/Lowering/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mpc::train {

/// Writes float formulas as calls: `m.mul(m.constant(2, x), x)`. All operands
/// of a call have one float type.
class ScalarMath {
public:
  using Value = mlir::Value;

  ScalarMath(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  /// A constant of the type of `like`.
  Value constant(double value, Value like) {
    return constantFloat(builder, loc, like.getType(), value);
  }
  Value add(Value a, Value b) { return create<mlir::arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return create<mlir::arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return create<mlir::arith::MulFOp>(a, b); }
  Value div(Value a, Value b) { return create<mlir::arith::DivFOp>(a, b); }
  Value neg(Value a) { return create<mlir::arith::NegFOp>(a); }
  /// NaN if either is NaN.
  Value max(Value a, Value b) { return create<mlir::arith::MaximumFOp>(a, b); }
  Value min(Value a, Value b) { return create<mlir::arith::MinimumFOp>(a, b); }
  Value abs(Value a) { return create<mlir::math::AbsFOp>(a); }
  Value exp(Value a) { return create<mlir::math::ExpOp>(a); }
  Value exp2(Value a) { return create<mlir::math::Exp2Op>(a); }
  Value fma(Value a, Value b, Value c) {
    return create<mlir::math::FmaOp>(a, b, c);
  }
  Value expm1(Value a) { return create<mlir::math::ExpM1Op>(a); }
  Value log(Value a) { return create<mlir::math::LogOp>(a); }
  Value log1p(Value a) { return create<mlir::math::Log1pOp>(a); }
  Value sin(Value a) { return create<mlir::math::SinOp>(a); }
  Value cos(Value a) { return create<mlir::math::CosOp>(a); }
  Value atan(Value a) { return create<mlir::math::AtanOp>(a); }
  Value erf(Value a) { return create<mlir::math::ErfOp>(a); }
  Value sqrt(Value a) { return create<mlir::math::SqrtOp>(a); }
  Value tanh(Value a) { return create<mlir::math::TanhOp>(a); }
  Value floor(Value a) { return create<mlir::math::FloorOp>(a); }
  Value ceil(Value a) { return create<mlir::math::CeilOp>(a); }
  Value roundeven(Value a) { return create<mlir::math::RoundEvenOp>(a); }
  Value compare(mlir::arith::CmpFPredicate predicate, Value a, Value b) {
    return mlir::arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value compare(mlir::arith::CmpIPredicate predicate, Value a, Value b) {
    return mlir::arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  // Logical operations on bools.
  Value andOf(Value a, Value b) { return create<mlir::arith::AndIOp>(a, b); }
  Value orOf(Value a, Value b) { return create<mlir::arith::OrIOp>(a, b); }
  Value xorOf(Value a, Value b) { return create<mlir::arith::XOrIOp>(a, b); }
  Value trueLike(Value like) {
    return mlir::arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(like.getType(), 1));
  }
  Value select(Value condition, Value a, Value b) {
    return create<mlir::arith::SelectOp>(condition, a, b);
  }

private:
  template <typename Op, typename... Operands>
  Value create(Operands... operands) {
    return Op::create(builder, loc, operands...);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// Emits the result of an elementwise op from its formula on scalars.
inline mlir::Value emitFormula(
    mlir::Operation *op, mlir::OpBuilder &builder,
    llvm::function_ref<mlir::Value(ScalarMath &, mlir::ValueRange)> formula) {
  return emitElementwise(
      builder, op->getLoc(), op->getResultTypes(), op->getOperands(),
      [&](mlir::OpBuilder &inner, mlir::Location loc,
          mlir::ValueRange x) -> llvm::SmallVector<mlir::Value> {
        ScalarMath math(inner, loc);
        return {formula(math, x)};
      })[0];
}

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_LOWERING_SCALARMATH_H
