//===- NumberRange.cpp - Ranges of the elements of a tensor ---------------===//

#include "compiler/Dialect/Amp/IR/NumberRange.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpc::amp;

static constexpr double kInfinity = NumberRange::kInfinity;
static constexpr double kLargest = std::numeric_limits<float>::max();
static constexpr double kSmallest = std::numeric_limits<float>::min();

/// Rounds `x` up to eight binary digits. Kernels may flush subnormal f32
/// numbers to zero or treat them as the smallest normal number.
static double upwards(double x) {
  if (x == 0 || std::isinf(x))
    return x + 0.0; // Turns -0 into 0.
  if (std::abs(x) < kSmallest)
    return x > 0 ? kSmallest : 0;
  int exponent;
  double fraction = std::frexp(x, &exponent);
  double rounded = std::ldexp(std::ceil(fraction * 256), exponent - 8);
  return rounded > kLargest ? kInfinity : rounded;
}

static double downwards(double x) { return -upwards(-x) + 0.0; }

/// A bound of infinity stands for finite numbers, so 0 times infinity is 0.
static double times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

NumberRange NumberRange::within(double low, double high) {
  NumberRange range;
  range.low = downwards(low), range.high = upwards(high);
  range.mayBeInfinite = !range.isBounded();
  range.mayBeNan = false;
  if (range.low > 0)
    range.least = range.low;
  if (range.high < 0)
    range.least = -range.high;
  return range;
}

NumberRange NumberRange::within(double low, double high,
                                ArrayRef<NumberRange> operands) {
  NumberRange range = within(low, high);
  for (const NumberRange &operand : operands) {
    range.mayBeNan |= !operand.isFinite();
    range.mayBeInfinite |= operand.mayBeInfinite;
  }
  return range;
}

bool NumberRange::fits(FloatType type) const {
  return isFinite() && maxMagnitude() <= largestOf(type) &&
         (maxMagnitude() == 0 || least >= smallestNormalOf(type));
}

bool NumberRange::isBeyond(FloatType type) const {
  double largest = largestOf(type);
  return low > largest || high < -largest;
}

NumberRange NumberRange::withoutRows() const {
  NumberRange range = *this;
  range.rowSum = range.rowNorm = kInfinity;
  return range;
}

std::string NumberRange::text() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto number = [](double x) { return llvm::format("%.3g", x); };
  if (isUnknown())
    os << "anything";
  else if (high == kInfinity)
    os << "at least " << number(low);
  else if (low == -kInfinity)
    os << "at most " << number(high);
  else
    os << "[" << number(low) << ", " << number(high) << "]";
  if (isUnknown())
    return text;
  if (least > 0 && low <= 0 && high >= 0)
    os << ", 0 or at least " << number(least) << " in size";
  if (!isFinite())
    os << "; may be " << (mayBeInfinite ? "infinite" : "")
       << (mayBeInfinite && mayBeNan ? " or " : "") << (mayBeNan ? "nan" : "");
  return text;
}

bool NumberRange::operator==(const NumberRange &other) const {
  return low == other.low && high == other.high && least == other.least &&
         mayBeInfinite == other.mayBeInfinite && mayBeNan == other.mayBeNan &&
         rowSum == other.rowSum && rowNorm == other.rowNorm;
}

NumberRange mpc::amp::hullOf(const NumberRange &a, const NumberRange &b) {
  NumberRange range;
  range.low = std::min(a.low, b.low);
  range.high = std::max(a.high, b.high);
  // A range that holds only 0 does not count.
  if (a.maxMagnitude() == 0 || b.maxMagnitude() == 0)
    range.least = a.maxMagnitude() == 0 ? b.least : a.least;
  else
    range.least = std::min(a.least, b.least);
  range.mayBeInfinite = a.mayBeInfinite || b.mayBeInfinite;
  range.mayBeNan = a.mayBeNan || b.mayBeNan;
  range.rowSum = std::max(a.rowSum, b.rowSum);
  range.rowNorm = std::max(a.rowNorm, b.rowNorm);
  return range;
}

NumberRange mpc::amp::sumOf(const NumberRange &a, const NumberRange &b) {
  NumberRange range = NumberRange::within(a.low + b.low, a.high + b.high);
  range.mayBeInfinite |= a.mayBeInfinite || b.mayBeInfinite;
  range.mayBeNan =
      a.mayBeNan || b.mayBeNan || (a.mayBeInfinite && b.mayBeInfinite);
  return range;
}

NumberRange mpc::amp::negativeOf(const NumberRange &a) {
  NumberRange range = a;
  range.low = -a.high, range.high = -a.low;
  return range;
}

NumberRange mpc::amp::productOf(const NumberRange &a, const NumberRange &b) {
  double corners[] = {times(a.low, b.low), times(a.low, b.high),
                      times(a.high, b.low), times(a.high, b.high)};
  auto [low, high] =
      std::minmax_element(std::begin(corners), std::end(corners));
  NumberRange range = NumberRange::within(*low, *high, {a, b});
  range.least = std::max(range.least, downwards(a.least * b.least));
  return range;
}

NumberRange mpc::amp::squareOf(const NumberRange &a) {
  double least = a.low > 0 ? a.low : a.high < 0 ? -a.high : 0;
  NumberRange range =
      NumberRange::within(least * least, a.maxMagnitude() * a.maxMagnitude());
  range.mayBeInfinite |= a.mayBeInfinite;
  range.mayBeNan = a.mayBeNan;
  range.least = std::max(range.least, downwards(a.least * a.least));
  return range;
}

NumberRange mpc::amp::quotientOf(const NumberRange &a, const NumberRange &b) {
  // A divisor that f16 might round to 0 leaves nothing proven.
  double least = b.low > 0 ? b.low : -b.high;
  if (!(least >= 0x1p-14))
    return NumberRange();
  NumberRange inverse = NumberRange::within(1 / b.high, 1 / b.low);
  NumberRange range = productOf(a, inverse);
  range.mayBeInfinite |= a.mayBeInfinite;
  range.mayBeNan =
      a.mayBeNan || b.mayBeNan || (a.mayBeInfinite && b.mayBeInfinite);
  return range;
}

NumberRange mpc::amp::sumOf(double count, const NumberRange &a) {
  // Each addition has an error of up to half an ulp.
  double most = count * (1 + count * 0x1p-24);
  double low = a.low < 0 ? a.low * most : a.low * count * (2 - most / count);
  double high =
      a.high > 0 ? a.high * most : a.high * count * (2 - most / count);
  if (count == 0)
    low = high = 0;
  NumberRange range = NumberRange::within(low, high, a);
  // Partial sums of both signs may overflow to both infinities.
  range.mayBeNan |= range.mayBeInfinite && low < 0 && high > 0;
  return range;
}

NumberRange mpc::amp::monotonic(const NumberRange &a,
                                llvm::function_ref<double(double)> function) {
  double low = function(a.mayBeInfinite ? -kInfinity : a.low);
  double high = function(a.mayBeInfinite ? kInfinity : a.high);
  NumberRange range = NumberRange::within(low, high);
  range.mayBeNan = a.mayBeNan;
  return range;
}

NumberRange mpc::amp::withRoundingError(const NumberRange &exact) {
  constexpr double kDigits = 0x1p-20;
  NumberRange range = exact;
  range.low = downwards(exact.low - std::abs(exact.low) * kDigits);
  range.high = upwards(exact.high + std::abs(exact.high) * kDigits);
  range.least = downwards(exact.least * (1 - kDigits));
  range.mayBeInfinite |= !range.isBounded();
  return range;
}

double mpc::amp::largestOf(FloatType type) {
  return llvm::APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
}

double mpc::amp::smallestNormalOf(FloatType type) {
  return llvm::APFloat::getSmallestNormalized(type.getFloatSemantics())
      .convertToDouble();
}
