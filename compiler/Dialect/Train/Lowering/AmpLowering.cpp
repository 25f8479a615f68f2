//===- AmpLowering.cpp - Generated code for amp ops -----------------------===//

#include "compiler/Dialect/Train/Lowering/AmpLowering.h"

#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/Lowering.h"
#include "compiler/Dialect/Train/Lowering/RandomWords.h"
#include "compiler/Dialect/Train/Lowering/ScalarMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

//===----------------------------------------------------------------------===//
// One function per op
//===----------------------------------------------------------------------===//

static LogicalResult lower(amp::CastOp op, OpBuilder &builder,
                           SmallVectorImpl<Value> &results) {
  // emitElementwise itself widens to f32 and rounds to the result's type.
  results = emitElementwise(
      builder, op.getLoc(), op->getResultTypes(), op->getOperands(),
      [](OpBuilder &, Location, ValueRange args) -> SmallVector<Value> {
        return {args[0]};
      });
  return success();
}

static LogicalResult lower(amp::ScaleLossOp op, OpBuilder &builder,
                           SmallVectorImpl<Value> &results) {
  results = emitElementwise(
      builder, op.getLoc(), op->getResultTypes(), op->getOperands(),
      [](OpBuilder &b, Location loc, ValueRange args) -> SmallVector<Value> {
        return {arith::MulFOp::create(b, loc, args[0], args[1])};
      });
  return success();
}

/// The reciprocal of a scale, to replace the divisions of a whole tensor.
static Value inverseOf(Value scale, OpBuilder &builder, Location loc) {
  return emitElementwise(
      builder, loc, scale.getType(), scale,
      [](OpBuilder &b, Location l, ValueRange args) -> SmallVector<Value> {
        Value one = constantFloat(b, l, args[0].getType(), 1.0);
        return {arith::DivFOp::create(b, l, one, args[0])};
      })[0];
}

static LogicalResult lower(amp::UnscaleOp op, OpBuilder &builder,
                           SmallVectorImpl<Value> &results) {
  Location loc = op.getLoc();
  Value inverse = inverseOf(op.getScale(), builder, loc);
  results = emitElementwise(
      builder, loc, op->getResultTypes(), {op.getInput(), inverse},
      [](OpBuilder &b, Location l, ValueRange args) -> SmallVector<Value> {
        return {arith::MulFOp::create(b, l, args[0], args[1])};
      });
  return success();
}

/// Zero if all elements of `input` are finite, else NaN, as a scalar: x * 0 is
/// a zero if x is finite and NaN if not, and one NaN makes the sum NaN. It is a
/// plain sum, which vectorises, in two steps, so that the rows of the first can
/// be distributed.
static Value nanUnlessFinite(Value input, OpBuilder &builder, Location loc) {
  Value sum = input;
  auto timesZero = [](OpBuilder &b, Location l,
                      ValueRange args) -> SmallVector<Value> {
    Value zero = constantFloat(b, l, args[0].getType(), 0.0);
    return {arith::MulFOp::create(b, l, args[0], zero)};
  };
  auto asIs = [](OpBuilder &, Location, ValueRange args) -> SmallVector<Value> {
    return {args[0]};
  };
  ArrayRef<int64_t> shape = cast<RankedTensorType>(input.getType()).getShape();
  int64_t rank = shape.size();
  if (rank == 0)
    sum = emitElementwise(builder, loc, sum.getType(), sum, timesZero)[0];
  if (rank > 0)
    sum = emitReduction(builder, loc, shape, {rank - 1}, Combiner::Sum, sum,
                        {allDims(sum)}, timesZero)[0];
  if (rank > 1)
    sum = emitReduction(builder, loc, shape.drop_back(), allDims(sum),
                        Combiner::Sum, sum, {allDims(sum)}, asIs)[0];
  return sum;
}

static LogicalResult lower(amp::AllFiniteOp op, OpBuilder &builder,
                           SmallVectorImpl<Value> &results) {
  Location loc = op.getLoc();
  SmallVector<Value> sums;
  for (Value input : op.getInputs())
    sums.push_back(nanUnlessFinite(input, builder, loc));
  results = emitElementwise(
      builder, loc, op->getResultTypes(), sums,
      [](OpBuilder &b, Location l, ValueRange args) -> SmallVector<Value> {
        Value sum = args[0];
        for (Value other : args.drop_front())
          sum = arith::AddFOp::create(b, l, sum, other);
        Value zero = constantFloat(b, l, sum.getType(), 0.0);
        return {
            arith::CmpFOp::create(b, l, arith::CmpFPredicate::OEQ, sum, zero)};
      });
  return success();
}

static LogicalResult lower(amp::SelectIfFiniteOp op, OpBuilder &builder,
                           SmallVectorImpl<Value> &results) {
  auto body = [](OpBuilder &b, Location loc,
                 ValueRange args) -> SmallVector<Value> {
    Value value = args[0], old = args[1], keep = args[2];
    if (isa<FloatType>(value.getType())) {
      Value zero = constantFloat(b, loc, value.getType(), 0.0);
      Value gone = arith::MulFOp::create(b, loc, value, zero);
      Value finite =
          arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, gone, gone);
      keep = arith::AndIOp::create(b, loc, keep, finite);
    }
    return {arith::SelectOp::create(b, loc, keep, value, old)};
  };
  results = emitElementwise(builder, op.getLoc(), op->getResultTypes(),
                            op->getOperands(), body);
  return success();
}

static LogicalResult lower(amp::UpdateScaleOp op, OpBuilder &builder,
                           SmallVectorImpl<Value> &results) {
  auto body = [&](OpBuilder &b, Location loc,
                  ValueRange args) -> SmallVector<Value> {
    Value scale = args[0], streak = args[1], finite = args[2];
    auto number = [&](const APFloat &value) {
      return constantFloat(b, loc, scale.getType(), value.convertToDouble());
    };
    auto integer = [&](int32_t value) -> Value {
      return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
    };
    Value grown = arith::MulFOp::create(b, loc, scale, number(op.getGrowth()));
    grown = arith::MinimumFOp::create(b, loc, grown, number(op.getCeiling()));
    Value backed =
        arith::MulFOp::create(b, loc, scale, number(op.getBackoff()));
    backed = arith::MaximumFOp::create(b, loc, backed, number(op.getFloor()));

    // A negative streak counts overflows that did not change the scale.
    int32_t most = 1 - static_cast<int32_t>(op.getHysteresis());
    Value overflows = arith::MinSIOp::create(b, loc, streak, integer(0));
    Value patient = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt,
                                          overflows, integer(most));
    backed = arith::SelectOp::create(b, loc, patient, scale, backed);
    overflows = arith::SubIOp::create(b, loc, overflows, integer(1));
    overflows = arith::MaxSIOp::create(b, loc, overflows, integer(most));

    Value next = arith::MaxSIOp::create(b, loc, streak, integer(0));
    next = arith::AddIOp::create(b, loc, next, integer(1));
    Value grows = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, next,
                                        integer(op.getInterval()));
    Value kept = arith::SelectOp::create(b, loc, grows, grown, scale);
    Value counted = arith::SelectOp::create(b, loc, grows, integer(0), next);
    return {arith::SelectOp::create(b, loc, finite, kept, backed),
            arith::SelectOp::create(b, loc, finite, counted, overflows)};
  };
  results = emitElementwise(builder, op.getLoc(), op->getResultTypes(),
                            op->getOperands(), body);
  return success();
}

//===----------------------------------------------------------------------===//
// FP8
//===----------------------------------------------------------------------===//

static LogicalResult lower(amp::QuantizeOp op, OpBuilder &builder,
                           SmallVectorImpl<Value> &results) {
  auto format = cast<FloatType>(op.getType().getElementType());
  double largest =
      llvm::APFloat::getLargest(format.getFloatSemantics()).convertToDouble();
  auto body = [&](OpBuilder &b, Location loc,
                  ValueRange args) -> SmallVector<Value> {
    Type type = args[0].getType();
    Value most = constantFloat(b, loc, type, largest);
    Value least = constantFloat(b, loc, type, -largest);
    Value scaled = arith::MulFOp::create(b, loc, args[0], args[1]);
    Value bounded = arith::MinNumFOp::create(b, loc, scaled, most);
    bounded = arith::MaxNumFOp::create(b, loc, bounded, least);
    // Zero, or NaN if the element is infinite or NaN.
    Value zero = constantFloat(b, loc, type, 0.0);
    Value gone = arith::MulFOp::create(b, loc, args[0], zero);
    return {arith::AddFOp::create(b, loc, bounded, gone)};
  };
  results = emitElementwise(builder, op.getLoc(), op->getResultTypes(),
                            op->getOperands(), body);
  return success();
}

static LogicalResult lower(amp::DequantizeOp op, OpBuilder &builder,
                           SmallVectorImpl<Value> &results) {
  // Applies one factor after the other: their product may be out of the range
  // of f32.
  Location loc = op.getLoc();
  results = emitElementwise(
      builder, loc, op->getResultTypes(),
      {op.getInput(), inverseOf(op.getLhsScale(), builder, loc),
       inverseOf(op.getRhsScale(), builder, loc)},
      [](OpBuilder &b, Location l, ValueRange args) -> SmallVector<Value> {
        Value value = arith::MulFOp::create(b, l, args[0], args[1]);
        return {arith::MulFOp::create(b, l, value, args[2])};
      });
  return success();
}

static LogicalResult lower(amp::AmaxOp op, OpBuilder &builder,
                           SmallVectorImpl<Value> &results) {
  Location loc = op.getLoc();
  Value value = op.getInput();
  auto size = [](OpBuilder &b, Location l,
                 ValueRange args) -> SmallVector<Value> {
    return {math::AbsFOp::create(b, l, args[0])};
  };
  ArrayRef<int64_t> shape = op.getInput().getType().getShape();
  int64_t rank = shape.size();
  if (rank == 0) {
    results = emitElementwise(builder, loc, op->getResultTypes(), value, size);
    return success();
  }
  // Reduces rows first: this loop can be fused with another one over rows.
  value = emitReduction(builder, loc, shape, {rank - 1}, Combiner::Max, value,
                        {allDims(value)}, size)[0];
  if (rank > 1)
    value = emitReduction(builder, loc, shape.drop_back(), allDims(value),
                          Combiner::Max, value, {allDims(value)}, size)[0];
  results.assign({value});
  return success();
}

/// 2^floor(log2(x)) is the exponent of x: its bits without the mantissa.
static LogicalResult lower(amp::ScaleOfOp op, OpBuilder &builder,
                           SmallVectorImpl<Value> &results) {
  auto body = [](OpBuilder &b, Location loc,
                 ValueRange args) -> SmallVector<Value> {
    Value amax = args[0], largest = args[1], old = args[2];
    Type type = amax.getType();
    auto number = [&](double value) {
      return constantFloat(b, loc, type, value);
    };
    Value quotient = arith::DivFOp::create(b, loc, largest, amax);
    Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), quotient);
    Value exponent = arith::AndIOp::create(
        b, loc, bits,
        arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0x7f800000)));
    Value power = arith::BitcastOp::create(b, loc, type, exponent);
    power = arith::MinimumFOp::create(b, loc, power, number(0x1p60));
    power = arith::MaximumFOp::create(b, loc, power, number(0x1p-60));
    Value isPositive = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT,
                                             amax, number(0.0));
    Value isFinite =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE, amax,
                              number(std::numeric_limits<float>::max()));
    Value isUsable = arith::AndIOp::create(b, loc, isPositive, isFinite);
    return {arith::SelectOp::create(b, loc, isUsable, power, old)};
  };
  results = emitElementwise(builder, op.getLoc(), op->getResultTypes(),
                            op->getOperands(), body);
  return success();
}

//===----------------------------------------------------------------------===//
// Master weights
//===----------------------------------------------------------------------===//

static LogicalResult lower(amp::SplitCompensatedOp op, OpBuilder &builder,
                           SmallVectorImpl<Value> &results) {
  auto body = [](OpBuilder &b, Location loc,
                 ValueRange args) -> SmallVector<Value> {
    Value rounded = convertFloat(b, loc, args[0], b.getBF16Type());
    Value value = convertFloat(b, loc, rounded, b.getF32Type());
    return {value, arith::SubFOp::create(b, loc, args[0], value)};
  };
  results = emitElementwise(builder, op.getLoc(), op->getResultTypes(),
                            op->getOperands(), body);
  return success();
}

static LogicalResult lower(amp::JoinCompensatedOp op, OpBuilder &builder,
                           SmallVectorImpl<Value> &results) {
  results = emitElementwise(
      builder, op.getLoc(), op->getResultTypes(), op->getOperands(),
      [](OpBuilder &b, Location loc, ValueRange args) -> SmallVector<Value> {
        return {arith::AddFOp::create(b, loc, args[0], args[1])};
      });
  return success();
}

/// A bf16 is the upper half of an f32: the random bits are added to the lower
/// half, and a carry rounds up.
static LogicalResult lower(amp::RoundStochasticallyOp op, OpBuilder &builder,
                           SmallVectorImpl<Value> &results) {
  auto body = [&](OpBuilder &b, Location loc,
                  ValueRange args) -> SmallVector<Value> {
    Type i32 = b.getI32Type(), type = args[0].getType();
    auto integer = [&](uint32_t value) -> Value {
      return arith::ConstantOp::create(
          b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
    };
    Value word = randomWords(b, loc, op.getInput().getType().getShape(),
                             args[1], args[2], op.getIndex())
                     .first;
    Value chance = arith::AndIOp::create(
        b, loc, arith::TruncIOp::create(b, loc, i32, word),
        integer(0x0000ffff));
    Value bits = arith::BitcastOp::create(b, loc, i32, args[0]);
    Value sum = arith::AddIOp::create(b, loc, bits, chance);
    Value upper = arith::AndIOp::create(b, loc, sum, integer(0xffff0000));
    Value rounded = arith::BitcastOp::create(b, loc, type, upper);
    ScalarMath m(b, loc);
    Value most = m.constant(0x1.fep127, args[0]);
    rounded = m.max(m.min(rounded, most), m.neg(most));
    // Zero if the element is finite, else NaN. Elements that are not finite
    // stay unchanged.
    Value gone = m.mul(args[0], m.constant(0, args[0]));
    Value finite = m.compare(arith::CmpFPredicate::ORD, gone, gone);
    return {m.select(finite, rounded, args[0])};
  };
  results = emitElementwise(builder, op.getLoc(), op->getResultTypes(),
                            op->getOperands(), body);
  return success();
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

namespace {

template <typename OpTy>
struct AmpLowering
    : LinalgLoweringOpInterface::ExternalModel<AmpLowering<OpTy>, OpTy> {
  LogicalResult lowerToLinalg(Operation *op, OpBuilder &builder,
                              SmallVectorImpl<Value> &results) const {
    return lower(cast<OpTy>(op), builder, results);
  }
};

/// A fixed number of operations for each element of the first operand.
template <typename OpTy, int64_t flopsPerElement>
struct AmpCost
    : CostOpInterface::ExternalModel<AmpCost<OpTy, flopsPerElement>, OpTy> {
  int64_t getFlops(Operation *op) const {
    auto type = cast<RankedTensorType>(op->getOperand(0).getType());
    return type.hasStaticShape() ? type.getNumElements() * flopsPerElement : 0;
  }
};

} // namespace

template <typename OpTy, int64_t flopsPerElement>
static void attach(MLIRContext *context) {
  OpTy::template attachInterface<AmpLowering<OpTy>,
                                 AmpCost<OpTy, flopsPerElement>>(*context);
}

void mpc::train::registerAmpLowering(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, amp::AmpDialect *) {
    attach<amp::CastOp, 0>(context);
    attach<amp::ScaleLossOp, 1>(context);
    attach<amp::AllFiniteOp, 2>(context);
    attach<amp::SelectIfFiniteOp, 1>(context);
    attach<amp::UnscaleOp, 1>(context);
    attach<amp::UpdateScaleOp, 2>(context);
    attach<amp::QuantizeOp, 1>(context);
    attach<amp::DequantizeOp, 2>(context);
    attach<amp::AmaxOp, 1>(context);
    attach<amp::ScaleOfOp, 1>(context);
    attach<amp::SplitCompensatedOp, 1>(context);
    attach<amp::JoinCompensatedOp, 1>(context);
    attach<amp::RoundStochasticallyOp, 1>(context);
  });
}
