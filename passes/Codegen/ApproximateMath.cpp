//===- ApproximateMath.cpp - Math functions as polynomials ----------------===//
//
// Kernels in 16 bit are bound by these functions rather than by memory: MLIR's
// erf takes 36 AVX-512 instructions, this one 15. Coefficients are minimax fits
// of the relative error.
//
//===----------------------------------------------------------------------===//

#include "passes/Codegen/ApproximateMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using mpc::MathTarget;

namespace {

/// Builds formulas over floats of one type, scalar or vector.
class Formula {
public:
  Formula(OpBuilder &builder, Location loc, Type type, MathTarget target)
      : builder(builder), loc(loc), type(type), target(target) {}

  Value constant(double value) const {
    return splat(FloatAttr::get(getElementTypeOrSelf(type), value));
  }
  Value add(Value a, Value b) const { return make<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) const { return make<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) const { return make<arith::MulFOp>(a, b); }
  /// The quotient. On a GPU the error is at most 2 ulps for a divisor between
  /// 2^-126 and 2^126.
  Value div(Value a, Value b) const {
    if (target != MathTarget::Nvptx)
      return make<arith::DivFOp>(a, b);
    return eachLane({a, b}, "llvm.nvvm.div.approx.f");
  }
  Value fma(Value a, Value b, Value c) const {
    return make<math::FmaOp>(a, b, c);
  }

  /// Clamps `x` to two bounds; keeps NaN. One instruction per bound on x86.
  Value clamp(Value x, double low, double high) const {
    auto choose = [&](arith::CmpFPredicate predicate, double bound) {
      Value limit = constant(bound);
      Value outside = arith::CmpFOp::create(builder, loc, predicate, limit, x);
      x = make<arith::SelectOp>(outside, limit, x);
    };
    choose(arith::CmpFPredicate::OGT, low);
    choose(arith::CmpFPredicate::OLT, high);
    return x;
  }

  Value select(Value condition, Value a, Value b) const {
    return make<arith::SelectOp>(condition, a, b);
  }
  Value isAbove(Value x, double bound) const {
    return isAbove(x, constant(bound));
  }
  Value isAbove(Value a, Value b) const {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, a, b);
  }
  Value magnitude(Value x) const { return make<math::AbsFOp>(x); }
  Value withSignOf(Value x, Value positive) const {
    return make<math::CopySignOp>(positive, x);
  }

  /// The sum of coefficients[i] x^i.
  Value polynomial(Value x, ArrayRef<double> coefficients) const {
    Value sum = constant(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, constant(coefficient));
    return sum;
  }

  /// Calls an LLVM intrinsic with the operands, followed by integer constants.
  Value intrinsic(StringRef name, ArrayRef<Value> operands,
                  ArrayRef<TypedAttr> numbers) const {
    SmallVector<Value> all(operands);
    for (TypedAttr number : numbers)
      all.push_back(arith::ConstantOp::create(builder, loc, number));
    return LLVM::CallIntrinsicOp::create(builder, loc, type,
                                         builder.getStringAttr(name), all)
        .getResult(0);
  }

  /// Calls an LLVM intrinsic that exists for scalars only, on each lane.
  Value eachLane(ArrayRef<Value> operands, StringRef name) const {
    auto vector = dyn_cast<VectorType>(type);
    auto call = [&](ArrayRef<Value> scalars) {
      return LLVM::CallIntrinsicOp::create(builder, loc,
                                           getElementTypeOrSelf(type),
                                           builder.getStringAttr(name), scalars)
          .getResult(0);
    };
    if (!vector)
      return call(operands);
    SmallVector<Value> lanes;
    for (int64_t lane = 0; lane < vector.getNumElements(); ++lane) {
      SmallVector<Value> scalars;
      for (Value operand : operands)
        scalars.push_back(
            vector::ExtractOp::create(builder, loc, operand, lane));
      lanes.push_back(call(scalars));
    }
    return vector::FromElementsOp::create(builder, loc, vector, lanes);
  }

  /// The bits of `x` moved to the left by `count`.
  Value shiftBits(Value x, int32_t count) const {
    Type word = builder.getIntegerType(
        getElementTypeOrSelf(type).getIntOrFloatBitWidth());
    Type bits = typeLike(word);
    Value moved = arith::ShLIOp::create(
        builder, loc, arith::BitcastOp::create(builder, loc, bits, x),
        splat(IntegerAttr::get(word, count)));
    return arith::BitcastOp::create(builder, loc, type, moved);
  }

  // Accessors for formulas that manipulate bits.

  template <typename Op, typename... Operands>
  Value make(Operands... operands) const {
    return Op::create(builder, loc, operands...);
  }
  Type typeLike(Type element) const {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(element)) : element;
  }
  Value splat(TypedAttr value) const {
    auto vector = dyn_cast<VectorType>(typeLike(value.getType()));
    if (!vector)
      return arith::ConstantOp::create(builder, loc, value);
    return arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(vector, Attribute(value)));
  }

  OpBuilder &builder;
  Location loc;
  Type type;
  MathTarget target;
};

/// 2^k and k for the whole number k nearest to a value.
struct Scale {
  Value power; ///< 2^(k-1): 2^k alone overflows for results that do not.
  Value whole; ///< k.
};

/// Added to a small float, leaves its nearest whole number plus 126 in the low
/// bits: 126 is the exponent field of 2^-1.
constexpr float kToInteger = 12582912.0f + 126.0f;

/// `shifted` is a value between -126 and 129, plus kToInteger.
Scale scaleOf(const Formula &f, Value shifted) {
  return {f.shiftBits(shifted, 23), f.sub(shifted, f.constant(kToInteger))};
}

/// 2^z = 2^k 2^(z-k), the second factor by a polynomial on [-1/2, 1/2]; its
/// coefficients are doubled because the power lacks a factor 2.
Value exp2(const Formula &f, Value z) {
  z = f.clamp(z, -126.0f, 128.9f);
  Scale scale = scaleOf(f, f.add(z, f.constant(kToInteger)));
  Value rest = f.sub(z, scale.whole);
  Value fraction = f.polynomial(rest, {2.0f, 2 * 0.693147182f, 2 * 0.240226477f,
                                       2 * 0.0555033237f, 2 * 0.00961843692f,
                                       2 * 0.00133988739f, 2 * 0.00015353362f});
  return f.mul(fraction, scale.power);
}

/// 2^z = 2^floor(z) 2^(z - floor(z)). The instructions saturate and propagate
/// NaN, which saves four operations.
Value exp2Avx512(const Formula &f, Value z, OpBuilder &builder) {
  constexpr int32_t kFloor = 0x9, kCurrentRounding = 4;
  Value zero = f.constant(0);
  TypedAttr everyLane = builder.getI16IntegerAttr(-1);
  TypedAttr rounding = builder.getI32IntegerAttr(kCurrentRounding);
  Value mask = arith::ConstantOp::create(builder, z.getLoc(), everyLane);
  Value floor = arith::ConstantOp::create(builder, z.getLoc(),
                                          builder.getI32IntegerAttr(kFloor));
  Value rest = f.intrinsic("llvm.x86.avx512.mask.reduce.ps.512",
                           {z, floor, zero, mask}, rounding);
  Value fraction =
      f.polynomial(rest, {1.0f, 0.693147063f, 0.240229309f, 0.0554852821f,
                          0.00967545155f, 0.00124678458f, 0.000216129163f});
  return f.intrinsic("llvm.x86.avx512.mask.scalef.ps.512",
                     {fraction, z, zero, mask}, rounding);
}

/// e^x = 2^k e^(x - k ln 2), with ln 2 in two parts so that the product with k
/// is exact (Cody and Waite).
Value exp(const Formula &f, Value x) {
  x = f.clamp(x, -87.3365f, 89.3f);
  Scale scale =
      scaleOf(f, f.fma(x, f.constant(1.44269504f), f.constant(kToInteger)));
  Value rest = f.fma(scale.whole, f.constant(-0.693145752f), x);
  rest = f.fma(scale.whole, f.constant(-1.42860677e-6f), rest);
  Value fraction = f.polynomial(rest, {2.0f, 2 * 1.0f, 2 * 0.49999994f,
                                       2 * 0.166664317f, 2 * 0.0416680016f,
                                       2 * 0.0083741555f, 2 * 0.00138436537f});
  return f.mul(fraction, scale.power);
}

/// The same in f64, by a Taylor polynomial whose next term is 4e-18 at the
/// ends. Schedules and bias corrections are computed in f64, and a GPU has no
/// math library.
Value exp64(const Formula &f, Value x) {
  constexpr double kToInteger64 = 0x1.8p52 + 1022;
  x = f.clamp(x, -708.0, 710.0);
  Value shifted = f.fma(x, f.constant(M_LOG2E), f.constant(kToInteger64));
  Value power = f.shiftBits(shifted, 52);
  Value whole = f.sub(shifted, f.constant(kToInteger64));
  Value rest = f.fma(whole, f.constant(-0x1.62e42fefa38p-1), x);
  rest = f.fma(whole, f.constant(-0x1.ef35793c7673p-45), rest);
  SmallVector<double> terms = {2.0};
  for (int i = 1; i <= 13; ++i)
    terms.push_back(terms.back() / i);
  return f.mul(f.polynomial(rest, terms), power);
}

/// log of f64: the exponent times log 2, and 2 atanh((m - 1) / (m + 1)) of a
/// mantissa m in [1/sqrt 2, sqrt 2] by its series, whose next term is 2e-18.
/// Positive numbers below 2^-1022 are treated as 2^-1022; log of 0 is -inf, and
/// of negative numbers NaN.
Value log64(const Formula &f, Value x) {
  constexpr int64_t kMantissa = (int64_t(1) << 52) - 1;
  constexpr int64_t kOne = int64_t(1023) << 52;
  OpBuilder &builder = f.builder;
  Type word = builder.getI64Type(), words = f.typeLike(word);
  auto integer = [&](int64_t value) {
    return f.splat(IntegerAttr::get(word, value));
  };
  Value bits = arith::BitcastOp::create(builder, f.loc, words, x);
  Value exponent = arith::SIToFPOp::create(
      builder, f.loc, f.type,
      arith::SubIOp::create(
          builder, f.loc,
          arith::ShRUIOp::create(builder, f.loc, bits, integer(52)),
          integer(1023)));
  Value fraction = arith::BitcastOp::create(
      builder, f.loc, f.type,
      arith::OrIOp::create(
          builder, f.loc,
          arith::AndIOp::create(builder, f.loc, bits, integer(kMantissa)),
          integer(kOne)));
  Value isLarge = f.isAbove(fraction, M_SQRT2);
  fraction = f.select(isLarge, f.mul(fraction, f.constant(0.5)), fraction);
  exponent = f.select(isLarge, f.add(exponent, f.constant(1)), exponent);
  Value t =
      f.div(f.sub(fraction, f.constant(1)), f.add(fraction, f.constant(1)));
  SmallVector<double> terms;
  for (int i = 0; i < 12; ++i)
    terms.push_back(2.0 / (2 * i + 1));
  Value series = f.mul(t, f.polynomial(f.mul(t, t), terms));
  Value result =
      f.fma(exponent, f.constant(0x1.62e42fefa38p-1),
            f.fma(exponent, f.constant(0x1.ef35793c7673p-45), series));
  auto compare = [&](arith::CmpFPredicate predicate, double bound) -> Value {
    return arith::CmpFOp::create(builder, f.loc, predicate, x,
                                 f.constant(bound));
  };
  const double infinity = std::numeric_limits<double>::infinity();
  result = f.select(compare(arith::CmpFPredicate::OEQ, 0),
                    f.constant(-infinity), result);
  result =
      f.select(compare(arith::CmpFPredicate::ULT, 0),
               f.constant(std::numeric_limits<double>::quiet_NaN()), result);
  return f.select(compare(arith::CmpFPredicate::OEQ, infinity), x, result);
}

/// erf(x) = x P(x^2) / Q(x^2). At the bound the quotient rounds to exactly 1,
/// as gelu of large negative numbers needs.
Value erf(const Formula &f, Value x) {
  x = f.clamp(x, -3.95f, 3.95f);
  Value square = f.mul(x, x);
  Value above =
      f.polynomial(square, {1.12837911f, 0.191550627f, 0.0528754927f,
                            0.00380817661f, 0.000284688344f, 2.02590923e-6f});
  Value below =
      f.polynomial(square, {1.0f, 0.503090024f, 0.114559755f, 0.0150551191f,
                            0.00117072999f, 3.78318473e-5f});
  return f.div(f.mul(x, above), below);
}

/// The standard normal distribution function, 1/2 + x P(x^2) / Q(x^2): three
/// multiplications fewer than through erf. At the bound the quotient rounds to
/// exactly 1/2.
Value normalCdf(const Formula &f, Value x) {
  x = f.clamp(x, -5.49f, 5.49f);
  Value square = f.mul(x, x);
  Value above =
      f.polynomial(square, {0.398942262f, 0.0334140919f, 0.00464907987f,
                            0.000164164419f, 6.30335762e-6f, 2.29960868e-8f});
  Value below =
      f.polynomial(square, {1.0f, 0.250423104f, 0.0283913761f, 0.00185831834f,
                            7.20594835e-5f, 1.2010488e-6f});
  return f.add(f.constant(0.5f), f.div(f.mul(x, above), below));
}

/// tanh(x) = E / (E + 2), with E = e^(2|x|) - 1 = 2^k m + (2^k - 1) and
/// m = e^(2 rest) - 1. The polynomial of m starts with an exact 2 rest, so E is
/// accurate near zero; the larger E is, the less its rounding errors matter.
/// Gradients are multiplied by 1 - tanh^2, which magnifies errors near 1: with
/// MLIR's approximation, off by up to 5 ulps, they had three times the error of
/// PyTorch's.
Value tanh(const Formula &f, Value x) {
  // 127 is the exponent field of 2^0; k is at most 58.
  constexpr float kToExponent = kToInteger + 1.0f;
  Value magnitude = f.magnitude(x), most = f.constant(20);
  magnitude = f.select(f.isAbove(magnitude, most), most, magnitude);
  Value shifted =
      f.fma(magnitude, f.constant(2 * M_LOG2E), f.constant(kToExponent));
  Value power = f.shiftBits(shifted, 23);
  Value whole = f.sub(shifted, f.constant(kToExponent));
  Value rest = f.fma(whole, f.constant(-M_LN2 / 2), magnitude);
  Value bend = f.polynomial(
      rest, {2.0f, 1.33332587f, 0.666664802f, 0.267640764f, 0.0891323323f});
  Value m = f.fma(f.mul(rest, rest), bend, f.add(rest, rest));
  Value grown = f.fma(power, m, f.sub(power, f.constant(1)));
  return f.withSignOf(x, f.div(grown, f.add(grown, f.constant(2))));
}

/// atan(x) by a polynomial up to tan(pi/8), and beyond by the difference to
/// pi/4 or pi/2.
Value atan(const Formula &f, Value x) {
  Value magnitude = f.magnitude(x), one = f.constant(1);
  Value isSteep = f.isAbove(magnitude, 1 + M_SQRT2);
  Value isShallow = f.isAbove(f.constant(M_SQRT2 - 1), magnitude);
  Value above =
      f.select(isSteep, f.constant(-1),
               f.sub(magnitude, f.select(isShallow, f.constant(0), one)));
  Value below = f.select(isShallow, one,
                         f.select(isSteep, magnitude, f.add(magnitude, one)));
  Value base =
      f.select(isShallow, f.constant(0),
               f.select(isSteep, f.constant(M_PI_2), f.constant(M_PI_4)));
  Value t = f.div(above, below);
  Value square = f.mul(t, t);
  Value bend = f.polynomial(
      square, {-0.333329499f, 0.199777097f, -0.138776779f, 0.0805372223f});
  Value angle = f.add(base, f.fma(f.mul(t, square), bend, t));
  return f.withSignOf(x, angle);
}

/// An angle as a number of quarter turns and a rest, in about [-pi/4, pi/4].
struct Quarters {
  Value isOdd, isNegative; ///< Whether the quarters, and half of them, are odd.
  Value rest;
};

/// Splits `angle`, of f64, into quarters and adds `first` quarters. pi/2 is
/// subtracted in two parts, because angles from an f32 can be within 2^-30 of a
/// multiple of pi/2. Beyond 1e12 the rest loses digits.
Quarters quartersOf(OpBuilder &builder, Location loc, Value angle, double first,
                    MathTarget target) {
  Formula f(builder, loc, angle.getType(), target);
  Value count =
      math::RoundEvenOp::create(builder, loc, f.mul(angle, f.constant(M_2_PI)));
  Value rest = f.fma(count, f.constant(-0x1.921fb54442d18p0), angle);
  rest = f.fma(count, f.constant(-0x1.1a62633145c07p-54), rest);
  // Modulo 4 and 2 are computed in f64, in which whole numbers are exact.
  auto modulo = [&](Value n, double divisor) {
    Value times =
        math::FloorOp::create(builder, loc, f.mul(n, f.constant(1 / divisor)));
    return f.fma(times, f.constant(-divisor), n);
  };
  auto isAtLeast = [&](Value n, double bound) -> Value {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGE, n,
                                 f.constant(bound));
  };
  Value quarter = modulo(f.add(count, f.constant(first)), 4);
  return {isAtLeast(modulo(quarter, 2), 1), isAtLeast(quarter, 2), rest};
}

/// Selects the sine or cosine of the rest, with its sign, by the quarters.
Value chooseQuarter(OpBuilder &builder, Location loc, const Quarters &q,
                    Value sine, Value cosine) {
  Value value = arith::SelectOp::create(builder, loc, q.isOdd, cosine, sine);
  Value negative = arith::NegFOp::create(builder, loc, value);
  return arith::SelectOp::create(builder, loc, q.isNegative, negative, value);
}

/// sin(x + first pi/2) by the minimax polynomials of sine and cosine near 0.
Value sineFrom(OpBuilder &builder, Location loc, Value x, double first,
               MathTarget target) {
  Formula f(builder, loc, x.getType(), target);
  Value angle =
      arith::ExtFOp::create(builder, loc, f.typeLike(builder.getF64Type()), x);
  Quarters q = quartersOf(builder, loc, angle, first, target);
  Value rest =
      f.clamp(arith::TruncFOp::create(builder, loc, f.type, q.rest), -1, 1);
  Value square = f.mul(rest, rest);
  Value sine = f.fma(
      f.mul(rest, square),
      f.polynomial(square, {-0.166666552f, 0.00833216123f, -0.000195152956f}),
      rest);
  Value cosine = f.polynomial(
      square, {1.0f, -0.5f, 0.0416666456f, -0.00138873106f, 0.0000243797868f});
  return chooseQuarter(builder, loc, q, sine, cosine);
}

/// The same in f64, by Taylor polynomials, whose next terms are below 3e-18.
Value sine64From(OpBuilder &builder, Location loc, Value x, double first,
                 MathTarget target) {
  Quarters q = quartersOf(builder, loc, x, first, target);
  Formula f(builder, loc, x.getType(), target);
  Value rest = f.clamp(q.rest, -1, 1);
  Value square = f.mul(rest, rest);
  SmallVector<double> odd = {1}, even = {1};
  for (int i = 1; i <= 8; ++i) {
    even.push_back(-even.back() / ((2 * i - 1) * (2 * i)));
    odd.push_back(-odd.back() / ((2 * i) * (2 * i + 1)));
  }
  return chooseQuarter(builder, loc, q, f.mul(rest, f.polynomial(square, odd)),
                       f.polynomial(square, even));
}

template <typename Op, int first, unsigned width = 32>
struct Sine : OpRewritePattern<Op> {
  Sine(MLIRContext *context, MathTarget target)
      : OpRewritePattern<Op>(context, /*benefit=*/2), target(target) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth() != width)
      return rewriter.notifyMatchFailure(op, "is of another type");
    auto formula = width == 64 ? sine64From : sineFrom;
    rewriter.replaceOp(
        op, formula(rewriter, op.getLoc(), op.getOperand(), first, target));
    return success();
  }

  const MathTarget target;
};

/// The other operand of a commutative op, if one operand is `constant`.
Value operandBeside(Operation *op, double constant) {
  for (unsigned i = 0; i < 2; ++i) {
    FloatAttr value;
    DenseFPElementsAttr elements;
    if (matchPattern(op->getOperand(i), m_Constant(&elements)) &&
        elements.isSplat())
      value = elements.getSplatValue<FloatAttr>();
    else if (!matchPattern(op->getOperand(i), m_Constant(&value)))
      continue;
    if (value.getValueAsDouble() == double(float(constant)))
      return op->getOperand(1 - i);
  }
  return nullptr;
}

/// 1/2 + 1/2 erf(x / sqrt 2), the factor of x in gelu.
struct NormalCdf : OpRewritePattern<arith::AddFOp> {
  NormalCdf(MLIRContext *context, MathTarget target)
      : OpRewritePattern(context), target(target) {}

  LogicalResult matchAndRewrite(arith::AddFOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "is not of f32");
    Value part = operandBeside(op, 0.5);
    auto half = part ? part.getDefiningOp<arith::MulFOp>() : nullptr;
    part = half ? operandBeside(half, 0.5) : Value();
    auto erf = part ? part.getDefiningOp<math::ErfOp>() : nullptr;
    auto scaled =
        erf ? erf.getOperand().getDefiningOp<arith::MulFOp>() : nullptr;
    Value x = scaled ? operandBeside(scaled, M_SQRT1_2) : Value();
    if (!x)
      return rewriter.notifyMatchFailure(op, "is not 1/2 + 1/2 erf(x/sqrt 2)");
    Formula f(rewriter, op.getLoc(), op.getType(), target);
    rewriter.replaceOp(op, normalCdf(f, x));
    return success();
  }

  const MathTarget target;
};

template <typename Op, Value (*formula)(const Formula &, Value),
          unsigned width = 32>
struct Approximate : OpRewritePattern<Op> {
  Approximate(MLIRContext *context, MathTarget target)
      : OpRewritePattern<Op>(context, /*benefit=*/2), target(target) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth() != width)
      return rewriter.notifyMatchFailure(op, "is of another type");
    Formula f(rewriter, op.getLoc(), op.getType(), target);
    rewriter.replaceOp(op, formula(f, op.getOperand()));
    return success();
  }

  const MathTarget target;
};

struct Exp2Avx512 : OpRewritePattern<math::Exp2Op> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::Exp2Op op,
                                PatternRewriter &rewriter) const override {
    if (op.getType() != VectorType::get(16, rewriter.getF32Type()))
      return rewriter.notifyMatchFailure(op, "is not of 16 lanes of f32");
    Formula f(rewriter, op.getLoc(), op.getType(), MathTarget::Avx512);
    rewriter.replaceOp(op, exp2Avx512(f, op.getOperand(), rewriter));
    return success();
  }
};

/// GPUs have an exp2 instruction of the same accuracy.
struct Exp2Nvptx : OpRewritePattern<math::Exp2Op> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::Exp2Op op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "is not of f32");
    Formula f(rewriter, op.getLoc(), op.getType(), MathTarget::Nvptx);
    rewriter.replaceOp(op,
                       f.eachLane({op.getOperand()}, "llvm.nvvm.ex2.approx"));
    return success();
  }
};

} // namespace

void mpc::populateComposedMathPatterns(RewritePatternSet &patterns,
                                       MathTarget target) {
  patterns.add<NormalCdf>(patterns.getContext(), target);
}

void mpc::populateDoubleMathPatterns(RewritePatternSet &patterns) {
  patterns.add<Approximate<math::ExpOp, exp64, 64>,
               Approximate<math::LogOp, log64, 64>, Sine<math::SinOp, 0, 64>,
               Sine<math::CosOp, 1, 64>>(patterns.getContext(),
                                         MathTarget::Any);
}

void mpc::populateApproximateMathPatterns(RewritePatternSet &patterns,
                                          MathTarget target) {
  // These have a higher benefit than MLIR's patterns for the same ops.
  patterns.add<Approximate<math::ExpOp, exp>, Approximate<math::Exp2Op, exp2>,
               Approximate<math::ErfOp, erf>, Approximate<math::TanhOp, tanh>,
               Approximate<math::AtanOp, atan>, Sine<math::SinOp, 0>,
               Sine<math::CosOp, 1>>(patterns.getContext(), target);
  if (target == MathTarget::Avx512)
    patterns.add<Exp2Avx512>(patterns.getContext(), /*benefit=*/3);
  if (target == MathTarget::Nvptx)
    patterns.add<Exp2Nvptx>(patterns.getContext(), /*benefit=*/3);
}
