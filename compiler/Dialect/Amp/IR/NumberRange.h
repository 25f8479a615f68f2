//===- NumberRange.h - What the elements of a tensor can be -----*- C++ -*-===//
//
// What an op proves of its results, whatever the data and the weights are: an
// interval, norms of rows, what is not finite. A result of which nothing is
// known may be anything.
//
// Bounds have eight significant binary digits, as bf16 has, and are rounded
// outwards: an element that lies within still does when it is stored in 16 bit,
// but for what f16 stores below 2^-14, which is off by half of 2^-24. What a
// narrow format cannot hold at all becomes infinite there, and what is computed
// from that is not what was proven.
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
  double least = 0; ///< No element but 0 is smaller in size.
  bool mayBeInfinite = true, mayBeNan = true;
  /// Bounds for each row along the last dimension: the sizes of its elements
  /// add up to at most `rowSum`, their squares to at most the square of
  /// `rowNorm`.
  double rowSum = kInfinity, rowNorm = kInfinity;

  /// Finite numbers from `low` to `high`; infinite where those are beyond f32.
  static NumberRange within(double low, double high);
  /// The same of what may also be NaN, or infinite, where an operand is.
  static NumberRange within(double low, double high,
                            llvm::ArrayRef<NumberRange> operands);

  double most() const { return std::max(std::abs(low), std::abs(high)); }
  bool isFinite() const { return !mayBeInfinite && !mayBeNan; }
  bool isBounded() const { return most() < kInfinity; }
  /// Nothing is known of the sizes of finite elements.
  bool isUnknown() const { return low == -kInfinity && high == kInfinity; }

  /// Whether `type` holds all elements with all digits it has.
  bool fits(mlir::FloatType type) const;
  /// Whether `type` holds none of them, 0 left aside.
  bool isBeyond(mlir::FloatType type) const;

  /// The same without what is known of rows.
  NumberRange withoutRows() const;

  /// "[0, 1]", "at least 0", "anything"; what may not be finite is added.
  std::string text() const;

  bool operator==(const NumberRange &other) const;
};

/// Elements of one or the other.
NumberRange hullOf(const NumberRange &a, const NumberRange &b);

NumberRange sumOf(const NumberRange &a, const NumberRange &b);
NumberRange negativeOf(const NumberRange &a);
NumberRange productOf(const NumberRange &a, const NumberRange &b);
NumberRange squareOf(const NumberRange &a);
NumberRange quotientOf(const NumberRange &a, const NumberRange &b);
/// The range of the sum of `count` elements in f32, in any order.
NumberRange sumOf(double count, const NumberRange &a);

/// The range of a function that never falls, on all numbers.
NumberRange risingOf(const NumberRange &a,
                     llvm::function_ref<double(double)> function);

/// What is computed to a few units in the last place of f32: bounds may be left
/// behind by that.
NumberRange computedIn(const NumberRange &exact);

/// What `type` holds at most, and the least it holds with all digits.
double largestOf(mlir::FloatType type);
double smallestNormalOf(mlir::FloatType type);

} // namespace mpc::amp

#endif // MPC_COMPILER_DIALECT_AMP_IR_NUMBERRANGE_H
