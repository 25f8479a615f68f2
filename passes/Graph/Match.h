//===- Match.h - Helpers for passes that recognise patterns -----*- C++ -*-===//
//
// A recogniser finds a function that the model composes of several ops and
// replaces it by one op. It starts at the last op and walks up; nothing is
// changed before the whole pattern is matched.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAPH_MATCH_H
#define MPC_PASSES_GRAPH_MATCH_H

#include "compiler/Dialect/Train/IR/Train.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

namespace mpc {

inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getShape();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// What `value` repeats, if it is broadcast, else `value` itself.
mlir::Value beforeBroadcast(mlir::Value value);

/// The value of a constant whose elements are all equal.
std::optional<double> numberOf(mlir::Value value);

/// For a binary `op` with a number as one operand, which must not change the
/// shape: returns the other operand, else null. Sets `*number` to the number
/// and `*index` to its operand index, which the values do not tell if both
/// operands are equal.
mlir::Value besideNumber(mlir::Operation *op, double *number,
                         unsigned *index = nullptr);

/// Whether `found` equals `wanted` within a few roundings to the element type
/// of `like`: models approximate numbers that are not exact in binary.
bool isNear(double found, double wanted, mlir::Value like);

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// The ops that one op would replace, the last one first.
class Parts {
public:
  explicit Parts(mlir::Operation *last) { ops.insert(last); }

  void add(mlir::Operation *op) { ops.insert(op); }

  /// If an op of type OpTy computes `value`, adds it to the parts and returns
  /// it; else returns null.
  template <typename OpTy> OpTy take(mlir::Value value) {
    auto op = value.getDefiningOp<OpTy>();
    if (op)
      add(op);
    return op;
  }

  mlir::Operation *last() const { return ops.front(); }

  /// Whether other ops use an intermediate result as large as `input`, which
  /// would have to be computed and stored in addition to the new op. Row
  /// statistics are cheap and do not count.
  bool areUsedElsewhere(mlir::Value input) const;

  /// The fused location of all parts; reports name the node of the last one.
  mlir::Location getLoc() const;

private:
  llvm::SmallSetVector<mlir::Operation *, 16> ops;
};

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The factors and divisors of a tree of products and quotients, in any order.
struct Product {
  double number = 1;
  llvm::SmallVector<mlir::Value> factors, divisors;

  /// The product that the last of `parts` computes; adds its other ops to
  /// `parts`.
  static Product of(Parts &parts);

  /// Removes a factor or divisor.
  void drop(mlir::Value factor) { factors.erase(llvm::find(factors, factor)); }
  void dropDivisor(mlir::Value divisor) {
    divisors.erase(llvm::find(divisors, divisor));
  }

  /// `value` times the remaining factors.
  mlir::Value multiply(mlir::RewriterBase &rewriter, mlir::Location loc,
                       mlir::Value value) const;
};

} // namespace mpc

#endif // MPC_PASSES_GRAPH_MATCH_H
