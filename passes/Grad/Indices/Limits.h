//===- Limits.h - Limits of integer inputs ----------------------*- C++ -*-===//
//
// Intervals of integers. `Path` turns the limits of an index into limits of the
// input that the index is computed from. Limits that cannot be represented
// become wider, never narrower, so that no value that the model can take is
// rejected.
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

/// The integers in [low, high), and optionally one more.
struct Limits {
  static constexpr int64_t kNoLow = std::numeric_limits<int64_t>::min();
  /// No upper bound: even the largest integer is allowed.
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

/// The integers that both allow.
Limits intersect(const Limits &a, const Limits &b);

/// At least the integers that either allows.
Limits unite(const Limits &a, const Limits &b);

/// The elements of an integer constant; null for anything else.
mlir::DenseIntElementsAttr integersOf(mlir::Value value);

/// Arithmetic on one integer and constants of the model.
struct IntegerStep {
  train::IntegerOperation operation;
  bool isConstantFirst;
  int64_t least, greatest; ///< Range of the constants.

  /// The step that `op` applies to its operand `index`, if the other operand is
  /// constant.
  static std::optional<IntegerStep> of(train::IntegerOp op, unsigned index);

  /// The integers that the step maps to those that `after` allows. None if they
  /// are not known, or if there are none.
  std::optional<Limits> before(const Limits &after) const;
};

/// The arithmetic between an input and a use of its integers. Paths with a
/// common beginning share it.
class Path {
  struct Link;

public:
  /// Storage for the links of all paths of one input; must outlive the paths.
  using Links = std::deque<Link>;

  /// This path followed by `step`.
  Path then(const IntegerStep &step, Links &links) const;

  /// This path followed by a replacement of the values that come from these
  /// integers of the input.
  Path replacing(llvm::ArrayRef<Limits> integers, Links &links) const;

  /// The limits of the input if the value at the end of the path has these
  /// limits; they may be too wide. None if they are not known.
  std::optional<Limits> limitsOfInput(Limits limits) const;

  /// Whether the path changes no integer.
  bool isEmpty() const { return !last; }

  /// False if limitsOfInput() may allow too much.
  bool isExact() const { return !last || !last->hasReplaced; }

private:
  /// One step, or the integers that are replaced.
  struct Link {
    const Link *before;
    std::optional<IntegerStep> step;
    llvm::SmallVector<Limits, 1> replaced;
    bool hasReplaced; ///< In this link or an earlier one.
  };
  const Link *last = nullptr;
};

} // namespace mpc

#endif // MPC_PASSES_GRAD_INDICES_LIMITS_H
