//===- Origins.h - Where values come from and lead to -----------*- C++ -*-===//
//
// Whether rounding a value is safe depends less on the op that makes it than
// on what it is: an input that a later subtraction centres, a weight, the
// gradient of a weight. This reads that off the graph, whatever types it has:
// before types are chosen it bounds the choice, afterwards it proves it.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_ANALYSIS_PRECISION_ORIGINS_H
#define MPC_COMPILER_ANALYSIS_PRECISION_ORIGINS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseSet.h"

namespace mpc {

class Origins {
public:
  explicit Origins(mlir::func::FuncOp func);

  /// Computed from inputs of the function, and neither a `low` op nor one whose
  /// result is bounded stands in between: x - mean(x) has digits only if x has
  /// its own.
  bool isUnbounded(mlir::Value value) const {
    return unbounded.contains(value);
  }

  /// Computed from parameters and constants alone.
  bool isOfParameters(mlir::Value value) const {
    return ofParameters.contains(value);
  }

  /// The gradient of a parameter, or a part of one, up to the pack.
  bool isParameterGradient(mlir::Value value) const {
    return gradients.contains(value);
  }

  /// Lies between packed gradients and what becomes of weights and of what is
  /// kept for them.
  bool isUpdate(mlir::Value value) const { return updates.contains(value); }

  /// A float that an index is computed from, back to products and sums, whose
  /// results count as well.
  bool isPlace(mlir::Value value) const { return places.contains(value); }

private:
  void visitPlaces(mlir::func::FuncOp func);
  void visitUpdates(mlir::func::FuncOp func);
  void visitForward(mlir::Operation *op);

  llvm::DenseSet<mlir::Value> unbounded, ofParameters, gradients, updates,
      places;
};

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_PRECISION_ORIGINS_H
