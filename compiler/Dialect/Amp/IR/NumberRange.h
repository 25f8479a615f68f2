//===- NumberRange.h - Ranges of the elements of a tensor -------*- C++ -*-===//
//
// What an op proves about its results for all data and weights: an interval,
// norms of rows, whether elements may be infinite or NaN. A result about which
// nothing is known may hold anything.
//
// Bounds have eight significant binary digits, as bf16 has, and are rounded
// outwards: an element within them stays within them when it is stored in 16
// bit, except below 2^-14 in f16, where it may be off by half of 2^-24. A
// number beyond a narrow format becomes infinite in it; nothing is proven about
// results computed from that.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_AMP_IR_NUMBERRANGE_H
#define MPC_COMPILER_DIALECT_AMP_IR_NUMBERRANGE_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <limits>
#include <string>

namespace mpc::amp {

struct NumberRange {
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  double low = -kInfinity, high = kInfinity; ///< Bounds of the finite values.
  double least = 0; ///< No nonzero element has a smaller magnitude.
  bool mayBeInfinite = true, mayBeNan = true;
  /// Bounds for each row along the last dimension: the magnitudes of its
  /// elements add up to at most `rowSum`, their squares to at most the square
  /// of `rowNorm`.
  double rowSum = kInfinity, rowNorm = kInfinity;

  /// Finite numbers from `low` to `high`; may be infinite if these are beyond
  /// f32.
  static NumberRange within(double low, double high);
  /// The same, but may also be infinite or NaN if an operand may be.
  static NumberRange within(double low, double high,
                            llvm::ArrayRef<NumberRange> operands);

  double maxMagnitude() const {
    return std::max(std::abs(low), std::abs(high));
  }
  bool isFinite() const { return !mayBeInfinite && !mayBeNan; }
  bool isBounded() const { return maxMagnitude() < kInfinity; }
  /// Nothing is known about the magnitudes of finite elements.
  bool isUnknown() const { return low == -kInfinity && high == kInfinity; }

  /// Returns true if `type` represents all elements with full precision.
  bool fits(mlir::FloatType type) const;
  /// Returns true if all elements are out of the range of `type`.
  bool isBeyond(mlir::FloatType type) const;

  /// This range without the bounds for rows.
  NumberRange withoutRows() const;

  /// "[0, 1]", "at least 0", "anything"; adds whether elements may be infinite
  /// or NaN.
  std::string text() const;

  bool operator==(const NumberRange &other) const;
};

/// The range of elements from either range.
NumberRange hullOf(const NumberRange &a, const NumberRange &b);

NumberRange sumOf(const NumberRange &a, const NumberRange &b);
NumberRange negativeOf(const NumberRange &a);
NumberRange productOf(const NumberRange &a, const NumberRange &b);
NumberRange squareOf(const NumberRange &a);
NumberRange quotientOf(const NumberRange &a, const NumberRange &b);
/// The range of the sum of `count` elements in f32, in any order.
NumberRange sumOf(double count, const NumberRange &a);

/// The range of a monotonically increasing function.
NumberRange monotonic(const NumberRange &a,
                      llvm::function_ref<double(double)> function);

/// The range of a result that is computed to a few ulps of f32, which may
/// exceed the exact bounds by that.
NumberRange withRoundingError(const NumberRange &exact);

/// The largest number of `type`, and its smallest normal number.
double largestOf(mlir::FloatType type);
double smallestNormalOf(mlir::FloatType type);

} // namespace mpc::amp

#endif // MPC_COMPILER_DIALECT_AMP_IR_NUMBERRANGE_H
