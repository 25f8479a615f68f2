//===- FloatBits.cpp - Narrow floats as integers --------------------------===//
//
// LLVM scalarizes vectors of bf16 on a CPU without bf16 instructions: even a
// select or a masked store becomes code for single elements, at a fifth of the
// speed. It has no FP8 operations at all. Vectors of integers work on every
// target.
//
//===----------------------------------------------------------------------===//

#include "passes/Codegen/FloatBits.h"

#include "compiler/Dialect/Amp/IR/Fp8Type.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mpc;

//===----------------------------------------------------------------------===//
// Arithmetic on bits
//===----------------------------------------------------------------------===//

/// `type` with other elements.
static Type typeLike(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(element)) : element;
}

/// Whether elements are 16-bit floats.
static bool isLow(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isBF16() || element.isF16();
}

static Type bitsType(Type type, unsigned width) {
  return typeLike(type, IntegerType::get(type.getContext(), width));
}

namespace {

/// Builds operations on f32 scalars or vectors, and on their bits as 32-bit
/// integers.
class Bits {
public:
  Bits(OpBuilder &builder, Location loc, Type like)
      : builder(builder), loc(loc),
        floats(typeLike(like, builder.getF32Type())),
        words(bitsType(like, 32)) {}

  Value number(int64_t value) {
    TypedAttr attr = builder.getI32IntegerAttr(static_cast<int32_t>(value));
    if (auto vector = dyn_cast<VectorType>(words))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return arith::ConstantOp::create(builder, loc, attr);
  }
  Value ofFloat(Value value) {
    return arith::BitcastOp::create(builder, loc, words, value);
  }
  Value toFloat(Value bits) {
    return arith::BitcastOp::create(builder, loc, floats, bits);
  }
  Value widened(Value bits) {
    return arith::ExtUIOp::create(builder, loc, words, bits);
  }
  Value narrowed(Value bits, unsigned width) {
    return arith::TruncIOp::create(builder, loc, bitsType(words, width), bits);
  }
  Value add(Value bits, int64_t value) {
    return arith::AddIOp::create(builder, loc, bits, number(value));
  }
  Value sum(Value left, Value right) {
    return arith::AddIOp::create(builder, loc, left, right);
  }
  Value masked(Value bits, int64_t mask) {
    return arith::AndIOp::create(builder, loc, bits, number(mask));
  }
  Value joined(Value left, Value right) {
    return arith::OrIOp::create(builder, loc, left, right);
  }
  Value left(Value bits, unsigned by) {
    return arith::ShLIOp::create(builder, loc, bits, number(by));
  }
  Value right(Value bits, unsigned by) {
    return arith::ShRUIOp::create(builder, loc, bits, number(by));
  }
  Value atMost(Value bits, int64_t value) {
    return arith::MinUIOp::create(builder, loc, bits, number(value));
  }
  Value isBelow(Value bits, int64_t value) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, bits,
                                 number(value));
  }
  Value choose(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(builder, loc, condition, yes, no);
  }
  /// Adds a bias to `bits` so that shifting out the last `by` bits rounds to
  /// nearest even.
  Value rounded(Value bits, unsigned by) {
    Value odd = masked(right(bits, by), 1);
    return sum(bits, add(odd, (1 << (by - 1)) - 1));
  }

  OpBuilder &builder;
  Location loc;

private:
  Type floats, words;
};

//===----------------------------------------------------------------------===//
// bf16
//===----------------------------------------------------------------------===//

/// The upper half of an f32.
struct Bf16Format {
  static constexpr unsigned kWidth = 16;

  static bool is(Type type) { return getElementTypeOrSelf(type).isBF16(); }

  /// NaN becomes a quiet NaN; otherwise the addition could carry its payload
  /// into infinity.
  static Value round(Bits &b, Value value, Type) {
    Value bits = b.ofFloat(value);
    Value quiet = b.joined(bits, b.number(0x400000));
    Value isNan = arith::CmpFOp::create(
        b.builder, b.loc, arith::CmpFPredicate::UNO, value, value);
    Value chosen = b.choose(isNan, quiet, b.rounded(bits, 16));
    return b.narrowed(b.right(chosen, 16), kWidth);
  }

  static Value widen(Bits &b, Value bits, Type) {
    return b.toFloat(b.left(b.widened(bits), 16));
  }
};

//===----------------------------------------------------------------------===//
// FP8
//===----------------------------------------------------------------------===//

/// An 8-bit format that encodes numbers as IEEE 754 does. If it has no
/// infinities, as f8E4M3FN, its only NaN has all bits set.
struct Fp8Format {
  static constexpr unsigned kWidth = 8;

  static bool is(Type type) { return amp::isFp8(type); }

  explicit Fp8Format(Type type) {
    const llvm::fltSemantics &semantics =
        cast<FloatType>(getElementTypeOrSelf(type)).getFloatSemantics();
    mantissa = APFloat::semanticsPrecision(semantics) - 1;
    rebias = 127 - (1 - APFloat::semanticsMinExponent(semantics));
    beyond = APFloat::semanticsHasInf(semantics)
                 ? APFloat::getInf(semantics).bitcastToAPInt().getZExtValue()
                 : 0x7f;
  }

  /// Subnormal numbers are multiples of one unit. Adding the f32 whose last bit
  /// has the value of this unit rounds to a multiple and leaves the code in the
  /// last bits of the sum.
  static Value round(Bits &b, Value value, Type type) {
    const Fp8Format format(type);
    const auto [dropped, leastNormal] = format.fromF32();
    Value bits = b.ofFloat(value);
    Value size = b.masked(bits, 0x7fffffff);
    Value normal =
        b.rounded(b.add(size, -(int64_t{format.rebias} << 23)), dropped);
    normal = b.atMost(b.right(normal, dropped), format.beyond);
    const int64_t unit = int64_t{format.rebias + 1 + dropped} << 23;
    Value shifted = arith::AddFOp::create(b.builder, b.loc, b.toFloat(size),
                                          b.toFloat(b.number(unit)));
    Value small = b.add(b.ofFloat(shifted), -unit);
    Value code = b.choose(b.isBelow(size, leastNormal), small, normal);
    Value sign = b.masked(b.right(bits, 24), 0x80);
    code = b.choose(b.isBelow(size, 0x7f800001), b.joined(code, sign),
                    b.number(0x7f));
    return b.narrowed(code, kWidth);
  }

  /// For a subnormal number, subtracts the leading one that an f32 implies.
  static Value widen(Bits &b, Value bits, Type type) {
    const Fp8Format format(type);
    const auto [dropped, leastNormal] = format.fromF32();
    Value word = b.widened(bits);
    Value code = b.masked(word, 0x7f);
    Value fields = b.left(code, dropped);
    Value normal = b.add(fields, int64_t{format.rebias} << 23);
    Value small = arith::SubFOp::create(b.builder, b.loc,
                                        b.toFloat(b.add(fields, leastNormal)),
                                        b.toFloat(b.number(leastNormal)));
    Value size = b.choose(b.isBelow(code, 1 << format.mantissa),
                          b.ofFloat(small), normal);
    // Infinity has a zero mantissa; all larger codes are NaN.
    Value special = b.joined(fields, b.number(0x7f800000));
    if (format.beyond == 0x7f)
      special = b.number(0x7fc00000);
    size = b.choose(b.isBelow(code, format.beyond), size, special);
    Value sign = b.left(b.masked(word, 0x80), 24);
    return b.toFloat(b.joined(size, sign));
  }

private:
  /// The number of f32 fraction bits that the format lacks, and its smallest
  /// normal number as the bits of an f32.
  std::pair<unsigned, int64_t> fromF32() const {
    return {23 - mantissa, int64_t{rebias + 1} << 23};
  }

  unsigned mantissa, rebias, beyond;
};

} // namespace

//===----------------------------------------------------------------------===//
// FP8 by an instruction
//===----------------------------------------------------------------------===//

/// The value of a splat constant.
static std::optional<double> splatOf(Value value) {
  Attribute attr;
  if (!matchPattern(value, m_Constant(&attr)))
    return std::nullopt;
  if (auto single = dyn_cast<FloatAttr>(attr))
    return single.getValueAsDouble();
  auto splat = dyn_cast<SplatElementsAttr>(attr);
  if (!splat || !isa<FloatType>(splat.getElementType()))
    return std::nullopt;
  return splat.getSplatValue<APFloat>().convertToDouble();
}

/// Whether `value` is max(min(x, c), -c) with a c that `format` has.
static bool isClamped(Value value, FloatType format) {
  auto above = value.getDefiningOp<arith::MaxNumFOp>();
  auto below =
      above ? above.getLhs().getDefiningOp<arith::MinNumFOp>() : nullptr;
  if (!below)
    return false;
  std::optional<double> most = splatOf(below.getRhs());
  std::optional<double> least = splatOf(above.getRhs());
  const double largest =
      APFloat::getLargest(format.getFloatSemantics()).convertToDouble();
  return most && least && *most <= largest && *least >= -largest;
}

/// Whether `value` is NaN or in the finite range of `format`, like the values
/// that amp.quantize rounds: a clamped number plus zero or NaN.
static bool isBounded(Value value, FloatType format) {
  auto sum = value.getDefiningOp<arith::AddFOp>();
  auto gone =
      sum ? sum.getRhs().getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  return isClamped(value, format) || (gone && splatOf(gone.getRhs()) == 0.0 &&
                                      isClamped(sum.getLhs(), format));
}

/// `value`, a scalar or a vector of f32, as bytes of `format`; null if the
/// target has no instruction for it.
static Value roundByInstruction(OpBuilder &builder, Location loc, Value value,
                                FloatType format, Fp8PairRounding roundPair) {
  Type byte = builder.getI8Type();
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector) {
    Value pair = roundPair(builder, loc, format, value, value);
    if (!pair)
      return Value();
    return arith::TruncIOp::create(builder, loc, byte, pair);
  }
  const int64_t lanes = vector.getNumElements();
  auto lane = [&](int64_t i) -> Value {
    return vector::ExtractOp::create(builder, loc, value, i);
  };
  if (lanes == 1) {
    Value only = roundByInstruction(builder, loc, lane(0), format, roundPair);
    if (!only)
      return Value();
    return vector::BroadcastOp::create(builder, loc, vector.clone(byte), only);
  }
  assert(lanes % 2 == 0 && "lanes are a power of two");
  SmallVector<Value> pairs;
  for (int64_t i = 0; i < lanes; i += 2) {
    pairs.push_back(roundPair(builder, loc, format, lane(i), lane(i + 1)));
    if (!pairs.back())
      return Value();
  }
  Value all = vector::FromElementsOp::create(
      builder, loc, VectorType::get(lanes / 2, builder.getI16Type()), pairs);
  return vector::BitCastOp::create(builder, loc, vector.clone(byte), all);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static TypedAttr bitsOf(TypedAttr value, unsigned width) {
  Type word = IntegerType::get(value.getContext(), width);
  if (auto single = dyn_cast<FloatAttr>(value))
    return IntegerAttr::get(word, single.getValue().bitcastToAPInt());
  return cast<DenseElementsAttr>(value).bitcast(word);
}

template <typename Format> static void retype(Value value) {
  if (Format::is(value.getType()))
    value.setType(bitsType(value.getType(), Format::kWidth));
}

/// Overrides the rounding of a format; returns null to use the format's own.
using OwnRounding =
    llvm::function_ref<Value(OpBuilder &, arith::TruncFOp, Type)>;

template <typename Format>
static void keepAsBits(func::FuncOp kernel, OwnRounding own) {
  // Record the types now, because the values are retyped below.
  SmallVector<std::pair<Operation *, Type>> conversions;
  kernel.walk([&](Operation *op) {
    if (auto widening = dyn_cast<arith::ExtFOp>(op))
      if (Type type = widening.getIn().getType(); Format::is(type))
        conversions.push_back({op, type});
    if (auto rounding = dyn_cast<arith::TruncFOp>(op))
      if (Type type = rounding.getType(); Format::is(type))
        conversions.push_back({op, type});
  });
  kernel.walk([](Operation *op) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      if (Format::is(constant.getType()))
        constant.setValueAttr(bitsOf(constant.getValue(), Format::kWidth));
    if (auto address = dyn_cast<LLVM::GEPOp>(op))
      if (Format::is(address.getElemType()))
        address.setElemType(bitsType(address.getElemType(), Format::kWidth));
    llvm::for_each(op->getResults(), retype<Format>);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), retype<Format>);
  });
  OpBuilder builder(kernel.getContext());
  for (auto [op, type] : conversions) {
    builder.setInsertionPoint(op);
    Bits bits(builder, op->getLoc(), type);
    Value operand = op->getOperand(0), result;
    // Two consecutive roundings had been folded into one.
    if (isa<arith::TruncFOp>(op) && isLow(operand.getType()))
      operand = arith::ExtFOp::create(
          builder, op->getLoc(),
          typeLike(operand.getType(), builder.getF32Type()), operand);
    if (isa<arith::ExtFOp>(op))
      result = Format::widen(bits, operand, type);
    else if (Value rounded = own(builder, cast<arith::TruncFOp>(op), type))
      result = rounded;
    else
      result = Format::round(bits, operand, type);
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
  // Remove bitcasts of values that are now loaded as bytes.
  kernel.walk([](arith::BitcastOp op) {
    if (op.getIn().getType() != op.getType())
      return;
    op.replaceAllUsesWith(op.getIn());
    op.erase();
  });
}

void mpc::keepBf16AsBits(func::FuncOp kernel) {
  keepAsBits<Bf16Format>(
      kernel, [](OpBuilder &, arith::TruncFOp, Type) { return Value(); });
}

void mpc::keepFp8AsBits(func::FuncOp kernel, Fp8PairRounding roundPair) {
  keepAsBits<Fp8Format>(
      kernel, [&](OpBuilder &builder, arith::TruncFOp op, Type type) {
        auto format = cast<FloatType>(getElementTypeOrSelf(type));
        if (!roundPair || !isBounded(op.getIn(), format))
          return Value();
        return roundByInstruction(builder, op.getLoc(), op.getIn(), format,
                                  roundPair);
      });
}
