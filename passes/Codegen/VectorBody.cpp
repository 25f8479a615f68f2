//===- VectorBody.cpp - The body of a linalg op on vectors ----------------===//

#include "passes/Codegen/VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
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
  // Not NaN, which the operation has too.
  if (auto type = dyn_cast<FloatType>(added.getType()))
    if (isa<arith::MaxNumFOp>(combiner))
      identity = FloatAttr::get(
          type, APFloat::getInf(type.getFloatSemantics(), /*Negative=*/true));
  return {combiner, added, identity};
}

Value mpc::combine(OpBuilder &builder, Location loc, const CombinerInfo &info,
                   Value total, Value value) {
  // A total is never NaN, so that a comparison does: one instruction on x86.
  if (isa<arith::MaxNumFOp>(info.op)) {
    Value larger = arith::CmpFOp::create(
        builder, loc, arith::CmpFPredicate::OGT, value, total);
    return arith::SelectOp::create(builder, loc, larger, value, total);
  }
  // Adding a value or zero is adding in some lanes only.
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

/// `arith.index_cast` disappears where index is i64 already.
static Value emitIndexCast(OpBuilder &builder, Operation &op, Value value,
                           unsigned lanes) {
  Type to = vectorType(op.getResult(0).getType(), lanes);
  unsigned from = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
  unsigned width = getElementTypeOrSelf(to).getIntOrFloatBitWidth();
  if (from == width)
    return value;
  if (from > width)
    return arith::TruncIOp::create(builder, op.getLoc(), to, value);
  if (isa<arith::IndexCastUIOp>(op))
    return arith::ExtUIOp::create(builder, op.getLoc(), to, value);
  return arith::ExtSIOp::create(builder, op.getLoc(), to, value);
}

static Value emitConstant(OpBuilder &builder, arith::ConstantOp op,
                          unsigned lanes) {
  return constantLanes(builder, op.getLoc(), cast<TypedAttr>(op.getValue()),
                       lanes);
}

SmallVector<Value>
mpc::emitBody(OpBuilder &builder, linalg::GenericOp op, ValueRange inputs,
              unsigned lanes,
              llvm::function_ref<Value(unsigned, Type)> indexOf) {
  Block *body = op.getBody();
  CombinerInfo combiner = findCombiner(op);
  IRMapping values;
  for (auto [argument, input] : llvm::zip(body->getArguments(), inputs))
    values.map(argument, input);

  auto lookup = [&](Value value) {
    if (Value mapped = values.lookupOrNull(value))
      return mapped;
    // Scalars from outside of the body: constants of the function.
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    assert(constant && "a body uses constants from outside only");
    Value mapped = emitConstant(builder, constant, lanes);
    values.map(value, mapped);
    return mapped;
  };
  for (Operation &inner : body->without_terminator()) {
    if (&inner == combiner.op)
      continue;
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      if (!llvm::all_of(inner.getUsers(), llvm::IsaPred<arith::IndexCastOp>))
        values.map(index.getResult(),
                   indexOf(index.getDim(), builder.getI64Type()));
      continue;
    }
    if (auto constant = dyn_cast<arith::ConstantOp>(inner)) {
      values.map(constant.getResult(), emitConstant(builder, constant, lanes));
      continue;
    }
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(inner)) {
      // In the type it is cast to from the start: fewer bits, more lanes.
      auto index = inner.getOperand(0).getDefiningOp<linalg::IndexOp>();
      if (index && !values.contains(index)) {
        values.map(inner.getResult(0),
                   indexOf(index.getDim(), inner.getResult(0).getType()));
        continue;
      }
      values.map(
          inner.getResult(0),
          emitIndexCast(builder, inner, lookup(inner.getOperand(0)), lanes));
      continue;
    }
    OperationState state(inner.getLoc(), inner.getName());
    for (Value operand : inner.getOperands())
      state.addOperands(lookup(operand));
    for (Type type : inner.getResultTypes())
      state.addTypes(vectorType(type, lanes));
    state.propertiesAttr = inner.getPropertiesAsAttribute();
    Operation *made = builder.create(state);
    for (auto [from, to] : llvm::zip(inner.getResults(), made->getResults()))
      values.map(from, to);
  }
  SmallVector<Value> results;
  if (combiner.op)
    return {lookup(combiner.added)};
  for (Value yielded : body->getTerminator()->getOperands())
    results.push_back(lookup(yielded));
  return results;
}
