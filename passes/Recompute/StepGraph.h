//===- StepGraph.h - Forward and backward pass of a function ----*- C++ -*-===//
//
// What recomputation asks about a function that trains, and the one place that
// says what values take.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_RECOMPUTE_STEPGRAPH_H
#define MPC_PASSES_RECOMPUTE_STEPGRAPH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>
#include <vector>

namespace mpc {

class StepGraph {
public:
  /// None if `func` has no backward pass: no `mpc.loss_seed` that is used.
  static std::optional<StepGraph> find(mlir::func::FuncOp func);

  /// The first op that computes gradients; the forward pass is what stands
  /// before it.
  mlir::Operation *backwardBegin() const { return begin; }

  mlir::ArrayRef<mlir::Operation *> forwardOps() const { return forward; }
  mlir::ArrayRef<mlir::Operation *> backwardOps() const { return backward; }

  /// Position of an op of the function.
  int64_t positionOf(mlir::Operation *op) const { return order.lookup(op); }
  bool isForward(mlir::Operation *op) const {
    return op && positionOf(op) < positionOf(begin);
  }

  /// True for what is in memory whether or not the backward pass reads it:
  /// inputs, states, constants, what the function returns or writes, and views
  /// of these.
  bool isFree(mlir::Value value) const;

  /// Bytes that are kept for the backward pass, what runs again included, at
  /// each op of the function.
  std::vector<int64_t> keptBytes() const;

  /// The same at the most crowded moment.
  int64_t peakBytes() const;

private:
  explicit StepGraph(mlir::func::FuncOp func) : func(func) {}

  mutable mlir::func::FuncOp func; ///< A handle, which reads as mutable.
  mlir::Operation *begin = nullptr;
  llvm::SmallVector<mlir::Operation *> forward, backward;
  llvm::DenseMap<mlir::Operation *, int64_t> order;
  llvm::DenseSet<mlir::Value> written; ///< Roots of what leaves the function.
};

/// Bytes of a dense tensor.
int64_t bytesOf(mlir::Value value);

/// What one execution of `op` computes; 0 if it does not say.
int64_t flopsOf(mlir::Operation *op);

} // namespace mpc

#endif // MPC_PASSES_RECOMPUTE_STEPGRAPH_H
