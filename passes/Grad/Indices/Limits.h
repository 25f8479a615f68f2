//===- Limits.h - Which integers an input may have --------------*- C++ -*-===//
//
// Intervals of integers. `Path` turns the limits of an index into limits of the
// input that the index is computed from. Limits that have no form here become
// wider, never narrower, so that no value is refused that the model can take.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAD_INDICES_LIMITS_H
#define MPC_PASSES_GRAD_INDICES_LIMITS_H

#include "compiler/Dialect/Train/IR/Train.h"

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <deque>
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

/// The arithmetic between an input and a use of its integers. Longer paths
/// share their beginning.
class Path {
  struct Link;

public:
  /// What the paths of one input are made of; must outlive them.
  using Links = std::deque<Link>;

  /// This path and then `step`.
  Path then(const IntegerStep &step, Links &links) const;

  /// This path, from the end of which on values that are made of these integers
  /// of the input are replaced.
  Path replacing(llvm::ArrayRef<Limits> integers, Links &links) const;

  /// What the input may be if what it becomes has these limits, or more. None
  /// if that is not known.
  std::optional<Limits> limitsOfInput(Limits limits) const;

  /// Whether nothing happens to them.
  bool isEmpty() const { return !last; }

  /// False if limitsOfInput() may be more than what keeps the limits.
  bool isExact() const { return !last || !last->hasReplaced; }

private:
  /// One step, or else the integers that are replaced.
  struct Link {
    const Link *before;
    std::optional<IntegerStep> step;
    llvm::SmallVector<Limits, 1> replaced;
    bool hasReplaced; ///< This one or one before.
  };
  const Link *last = nullptr;
};

} // namespace mpc

#endif // MPC_PASSES_GRAD_INDICES_LIMITS_H
