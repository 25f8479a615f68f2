//===- Limits.h - Which integers an input may have --------------*- C++ -*-===//
//
// Intervals of integers, and what arithmetic on the way from an input to an
// index makes of them: `Path` turns the limits of the index into those of the
// input. Where limits have no form here they become wider, never narrower, so
// that no value is refused that the model can take.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAD_LIMITS_H
#define MPC_PASSES_GRAD_LIMITS_H

#include "compiler/Dialect/Train/IR/Train.h"

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <limits>
#include <optional>

namespace mpc {

/// Integers in [low, high), and one more.
struct Limits {
  static constexpr int64_t kNoLow = std::numeric_limits<int64_t>::min();
  /// Not even the largest integer is too large.
  static constexpr int64_t kNoHigh = std::numeric_limits<int64_t>::max();

  int64_t low = kNoLow, high = kNoHigh;
  std::optional<int64_t> ignored = std::nullopt;

  bool isInRange(int64_t value) const {
    return value >= low && (value < high || high == kNoHigh);
  }
  bool allows(int64_t value) const {
    return isInRange(value) || value == ignored;
  }
  bool allowsAll() const { return low == kNoLow && high == kNoHigh; }
};

/// What both allow.
Limits intersect(const Limits &a, const Limits &b);

/// What either allows, or more.
Limits unite(const Limits &a, const Limits &b);

/// The integers of a constant; null of anything else, or of no integers.
mlir::DenseIntElementsAttr integersOf(mlir::Value value);

/// Arithmetic on one integer and constants of the model.
struct IntegerStep {
  train::IntegerOperation operation;
  bool isConstantFirst;
  int64_t least, greatest; ///< The constants.

  /// The step that `op` makes of its operand `index`, if the other one is
  /// constant.
  static std::optional<IntegerStep> of(train::IntegerOp op, unsigned index);

  /// Which integers the step turns into those that `after` allows. None if
  /// that is not known, or there are none.
  std::optional<Limits> before(const Limits &after) const;
};

/// What happens to the integers of an input on the way to one of their uses.
class Path {
public:
  void add(const IntegerStep &step) { steps.push_back(step); }

  /// From here on, values made of these integers of the input are replaced.
  void replace(llvm::ArrayRef<Limits> integers) {
    llvm::append_range(replaced, integers);
  }

  /// What the input may be if what it becomes has these limits, or more. None
  /// if that is not known.
  std::optional<Limits> limitsOfInput(Limits limits) const;

  /// Whether nothing happens to them.
  bool isEmpty() const { return steps.empty() && replaced.empty(); }

  /// False if limitsOfInput() may be more than what keeps the limits.
  bool isExact() const { return replaced.empty(); }

private:
  llvm::SmallVector<IntegerStep> steps;
  llvm::SmallVector<Limits> replaced;
};

} // namespace mpc

#endif // MPC_PASSES_GRAD_LIMITS_H
