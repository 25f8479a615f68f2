//===- VectorBody.cpp - Vectors of elements and their sums ----------------===//

#include "passes/Codegen/VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mpc;

Type mpc::vectorType(Type scalar, unsigned lanes) {
  if (scalar.isIndex())
    scalar = IntegerType::get(scalar.getContext(), 64);
  return lanes == 0 ? scalar : Type(VectorType::get({int64_t(lanes)}, scalar));
}

Value mpc::broadcastLanes(OpBuilder &builder, Location loc, Value scalar,
                          unsigned lanes) {
  if (lanes == 0)
    return scalar;
  return vector::BroadcastOp::create(
      builder, loc, vectorType(scalar.getType(), lanes), scalar);
}

Value mpc::constantLanes(OpBuilder &builder, Location loc, TypedAttr value,
                         unsigned lanes) {
  if (value.getType().isIndex())
    value = builder.getI64IntegerAttr(cast<IntegerAttr>(value).getInt());
  if (lanes == 0)
    return arith::ConstantOp::create(builder, loc, value);
  auto type = cast<VectorType>(vectorType(value.getType(), lanes));
  return arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, Attribute(value)));
}

Value mpc::firstLanes(OpBuilder &builder, Location loc, unsigned lanes,
                      int64_t count) {
  SmallVector<bool> exists(lanes, false);
  std::fill_n(exists.begin(), count, true);
  auto type = VectorType::get({int64_t(lanes)}, builder.getI1Type());
  return arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, ArrayRef<bool>(exists)));
}

CombinerInfo mpc::findCombiner(linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0)
    return {};
  Block *body = op.getBody();
  Operation *combiner = body->getTerminator()->getOperand(0).getDefiningOp();
  Value accumulator = body->getArgument(op.getNumDpsInputs());
  Value added = combiner->getOperand(0) == accumulator
                    ? combiner->getOperand(1)
                    : combiner->getOperand(0);
  TypedAttr identity = arith::getNeutralElement(combiner).value_or(TypedAttr());
  // -inf instead of NaN, the neutral element that MLIR gives for maxnumf.
  if (auto type = dyn_cast<FloatType>(added.getType()))
    if (isa<arith::MaxNumFOp>(combiner))
      identity = FloatAttr::get(
          type, APFloat::getInf(type.getFloatSemantics(), /*Negative=*/true));
  return {combiner, added, identity};
}

Value mpc::combine(OpBuilder &builder, Location loc, const CombinerInfo &info,
                   Value total, Value value) {
  // A total is never NaN, so a comparison suffices: one instruction on x86.
  if (isa<arith::MaxNumFOp>(info.op)) {
    Value larger = arith::CmpFOp::create(
        builder, loc, arith::CmpFPredicate::OGT, value, total);
    return arith::SelectOp::create(builder, loc, larger, value, total);
  }
  // Adding select(c, value, 0) becomes an add in some lanes only.
  auto select = value.getDefiningOp<arith::SelectOp>();
  if (isa<arith::AddFOp>(info.op) && select &&
      matchPattern(select.getFalseValue(), m_AnyZeroFloat())) {
    Value sum =
        arith::AddFOp::create(builder, loc, total, select.getTrueValue());
    return arith::SelectOp::create(builder, loc, select.getCondition(), sum,
                                   total);
  }
  OperationState state(loc, info.op->getName());
  state.addOperands({total, value});
  state.addTypes(total.getType());
  state.addAttributes(info.op->getAttrs());
  return builder.create(state)->getResult(0);
}

bool mpc::needsBlocks(const CombinerInfo &info) {
  return isa<arith::AddFOp>(info.op) && info.identity.getType().isF32();
}

TypedAttr mpc::totalIdentity(const CombinerInfo &info) {
  if (!needsBlocks(info))
    return info.identity;
  return FloatAttr::get(Float64Type::get(info.op->getContext()),
                        cast<FloatAttr>(info.identity).getValueAsDouble());
}

/// `type`, a float or a vector of floats, with elements of `element`.
static Type withElement(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(element)) : element;
}

Value mpc::joinInPairs(OpBuilder &builder, Location loc,
                       const CombinerInfo &info, ArrayRef<Value> parts) {
  SmallVector<Value> left(parts);
  for (size_t width = left.size() / 2; width > 0; width /= 2)
    for (size_t i = 0; i < width; ++i)
      left[i] = combine(builder, loc, info, left[i], left[i + width]);
  return left[0];
}

Value mpc::addBlock(OpBuilder &builder, Location loc, const CombinerInfo &info,
                    Value total, ArrayRef<Value> parts) {
  Value part = joinInPairs(builder, loc, info, parts);
  if (!needsBlocks(info))
    return combine(builder, loc, info, total, part);
  Value wide = arith::ExtFOp::create(
      builder, loc, withElement(part.getType(), builder.getF64Type()), part);
  return arith::AddFOp::create(builder, loc, total, wide);
}

Value mpc::finishTotal(OpBuilder &builder, Location loc,
                       const CombinerInfo &info, Value total) {
  if (!needsBlocks(info))
    return total;
  return arith::TruncFOp::create(
      builder, loc, withElement(total.getType(), builder.getF32Type()), total);
}

Value mpc::reduceLanes(OpBuilder &builder, Location loc,
                       const CombinerInfo &info, Value lanes) {
  int64_t width = cast<VectorType>(lanes.getType()).getNumElements();
  for (width /= 2; width > 0; width /= 2) {
    auto half = [&](int64_t begin) -> Value {
      return vector::ExtractStridedSliceOp::create(builder, loc, lanes, begin,
                                                   width, 1);
    };
    lanes = combine(builder, loc, info, half(0), half(width));
  }
  return vector::ExtractOp::create(builder, loc, lanes, 0);
}
