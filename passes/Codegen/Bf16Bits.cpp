//===- Bf16Bits.cpp - bf16 as integers of 16 bit --------------------------===//
//
// LLVM has no vectors of bf16 on a CPU without instructions for them: whatever
// touches one, a select or a masked store, becomes code for single elements, at
// a fifth of the speed. Vectors of integers are there on every CPU.
//
//===----------------------------------------------------------------------===//

#include "passes/Codegen/Bf16Bits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

static bool isBf16(Type type) { return getElementTypeOrSelf(type).isBF16(); }

/// `type` with other elements.
static Type typeLike(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(element)) : element;
}

static Type bitsType(Type type, unsigned width) {
  return typeLike(type, IntegerType::get(type.getContext(), width));
}

static Value constantLike(OpBuilder &builder, Location loc, Type type,
                          int64_t number) {
  TypedAttr value = builder.getIntegerAttr(getElementTypeOrSelf(type), number);
  if (auto vector = dyn_cast<VectorType>(type))
    value = DenseElementsAttr::get(vector, Attribute(value));
  return arith::ConstantOp::create(builder, loc, value);
}

/// The upper halves of values in f32, to nearest even. NaN stays NaN, quiet:
/// adding could carry its payload into infinity.
static Value roundToBits(OpBuilder &builder, Location loc, Value value) {
  Type words = bitsType(value.getType(), 32);
  auto number = [&](int64_t n) { return constantLike(builder, loc, words, n); };
  Value bits = arith::BitcastOp::create(builder, loc, words, value);
  Value high = arith::ShRUIOp::create(builder, loc, bits, number(16));
  Value odd = arith::AndIOp::create(builder, loc, high, number(1));
  Value half = arith::AddIOp::create(builder, loc, odd, number(0x7fff));
  Value sum = arith::AddIOp::create(builder, loc, bits, half);
  Value quiet = arith::OrIOp::create(builder, loc, bits, number(0x400000));
  Value isNan = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO,
                                      value, value);
  Value chosen = arith::SelectOp::create(builder, loc, isNan, quiet, sum);
  Value shifted = arith::ShRUIOp::create(builder, loc, chosen, number(16));
  return arith::TruncIOp::create(builder, loc, bitsType(words, 16), shifted);
}

static Value widenBits(OpBuilder &builder, Location loc, Value bits,
                       Type type) {
  Type words = bitsType(type, 32);
  Value wide = arith::ExtUIOp::create(builder, loc, words, bits);
  Value shifted = arith::ShLIOp::create(builder, loc, wide,
                                        constantLike(builder, loc, words, 16));
  return arith::BitcastOp::create(builder, loc, type, shifted);
}

static TypedAttr bitsOf(TypedAttr value) {
  Type word = IntegerType::get(value.getContext(), 16);
  if (auto single = dyn_cast<FloatAttr>(value))
    return IntegerAttr::get(word, single.getValue().bitcastToAPInt());
  return cast<DenseElementsAttr>(value).bitcast(word);
}

static void retype(Value value) {
  if (isBf16(value.getType()))
    value.setType(bitsType(value.getType(), 16));
}

void mpc::keepBf16AsBits(func::FuncOp kernel) {
  SmallVector<arith::ExtFOp> widenings;
  SmallVector<arith::TruncFOp> roundings;
  kernel.walk([&](Operation *op) {
    if (auto widening = dyn_cast<arith::ExtFOp>(op))
      if (isBf16(widening.getIn().getType()))
        widenings.push_back(widening);
    if (auto rounding = dyn_cast<arith::TruncFOp>(op))
      if (isBf16(rounding.getType()))
        roundings.push_back(rounding);
  });
  kernel.walk([](Operation *op) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      if (isBf16(constant.getType()))
        constant.setValueAttr(bitsOf(constant.getValue()));
    llvm::for_each(op->getResults(), retype);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), retype);
  });
  OpBuilder builder(kernel.getContext());
  for (arith::ExtFOp op : widenings) {
    builder.setInsertionPoint(op);
    op.replaceAllUsesWith(
        widenBits(builder, op.getLoc(), op.getIn(), op.getType()));
    op.erase();
  }
  for (arith::TruncFOp op : roundings) {
    builder.setInsertionPoint(op);
    op.replaceAllUsesWith(roundToBits(builder, op.getLoc(), op.getIn()));
    op.erase();
  }
}
