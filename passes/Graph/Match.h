//===- Match.h - What recognisers look for ----------------------*- C++ -*-===//
//
// A recogniser finds a function that the model writes out and replaces it by
// one op. It starts at the last op and walks up; nothing is changed before all
// of it is found.
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

/// The number that a constant holds, if all of its elements are that one.
std::optional<double> numberOf(mlir::Value value);

/// The operand of `op`, which has two, beside one that is a number and does not
/// change its shape; null if there is none. The number is `*number`, operand
/// `*index`: of equal operands the values do not tell.
mlir::Value besideNumber(mlir::Operation *op, double *number,
                         unsigned *index = nullptr);

/// Whether `found` is `wanted` but for a few roundings to the elements of
/// `like`: what a model writes for a number that is not exact in binary.
bool isNear(double found, double wanted, mlir::Value like);

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// The ops that one would replace, the last of them first.
class Parts {
public:
  explicit Parts(mlir::Operation *last) { ops.insert(last); }

  void add(mlir::Operation *op) { ops.insert(op); }

  /// The op of that kind whose result `value` is, from now on a part; or null.
  template <typename OpTy> OpTy take(mlir::Value value) {
    auto op = value.getDefiningOp<OpTy>();
    if (op)
      add(op);
    return op;
  }

  mlir::Operation *last() const { return ops.front(); }

  /// Whether others use what a part computes, if it is as large as `input`:
  /// then it would be computed and stored beside the one op. Statistics of rows
  /// are cheap.
  bool areUsedElsewhere(mlir::Value input) const;

  /// All of theirs; reports name the node of the last.
  mlir::Location getLoc() const;

private:
  llvm::SmallSetVector<mlir::Operation *, 16> ops;
};

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// What a tree of products and quotients multiplies, in whichever order.
struct Product {
  double number = 1;
  llvm::SmallVector<mlir::Value> factors, divisors;

  /// The product that ends at the last of `parts`, which the others join.
  static Product of(Parts &parts);

  /// Takes out a factor or divisor.
  void drop(mlir::Value factor) { factors.erase(llvm::find(factors, factor)); }
  void dropDivisor(mlir::Value divisor) {
    divisors.erase(llvm::find(divisors, divisor));
  }

  /// `value` times what is left.
  mlir::Value multiply(mlir::RewriterBase &rewriter, mlir::Location loc,
                       mlir::Value value) const;
};

} // namespace mpc

#endif // MPC_PASSES_GRAPH_MATCH_H
