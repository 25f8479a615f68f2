//===- Origins.h - Origins of values ----------------------------*- C++ -*-===//
//
// Whether a value may be rounded depends less on the op that computes it than
// on its origin: an input that a later subtraction centres, a weight, the
// gradient of a weight. Origins are derived from the graph alone, independently
// of its types. Before types are chosen they restrict the choice; afterwards
// they prove it.
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

  /// Computed from inputs of the function without a `low` op or an op that
  /// bounds its result in between: x - mean(x) is only as precise as x.
  bool isUnbounded(mlir::Value value) const {
    return unbounded.contains(value);
  }

  /// Computed only from parameters and constants.
  bool isOfParameters(mlir::Value value) const {
    return ofParameters.contains(value);
  }

  /// Part of the computation of a parameter's gradient, up to the pack
  /// (GradientPaths.h).
  bool isParameterGradient(mlir::Value value) const {
    return gradients.contains(value);
  }

  /// Lies between packed gradients and the new values of weights and optimizer
  /// states.
  bool isUpdate(mlir::Value value) const { return updates.contains(value); }

  /// A float that an index is computed from, back to products and sums, whose
  /// results are included.
  bool feedsIndex(mlir::Value value) const {
    return feedingIndex.contains(value);
  }

private:
  void visitIndices(mlir::func::FuncOp func);
  void visitUpdates(mlir::func::FuncOp func);
  void visitForward(mlir::Operation *op);

  llvm::DenseSet<mlir::Value> unbounded, ofParameters, gradients, updates,
      feedingIndex;
};

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_PRECISION_ORIGINS_H
