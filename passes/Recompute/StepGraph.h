//===- StepGraph.h - Forward and backward pass of a function ----*- C++ -*-===//
//
// The queries of recomputation about a function that trains, and the only place
// that computes memory sizes of values.
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
  /// None if `func` has no backward pass, that is, no used `mpc.loss_seed`.
  static std::optional<StepGraph> find(mlir::func::FuncOp func);

  /// The first op that computes gradients; the ops before it are the forward
  /// pass.
  mlir::Operation *backwardBegin() const { return begin; }

  mlir::ArrayRef<mlir::Operation *> forwardOps() const { return forward; }
  mlir::ArrayRef<mlir::Operation *> backwardOps() const { return backward; }

  /// Position of an op of the function.
  int64_t positionOf(mlir::Operation *op) const { return order.lookup(op); }
  bool isForward(mlir::Operation *op) const {
    return op && positionOf(op) < positionOf(begin);
  }

  /// True for values that are in memory whether or not the backward pass reads
  /// them: inputs, states, constants, values that the function returns or
  /// writes, and views of these.
  bool isFree(mlir::Value value) const;

  /// Bytes in memory for the backward pass at each op of the function,
  /// including recomputed values.
  std::vector<int64_t> keptBytes() const;

  /// The maximum of keptBytes().
  int64_t peakBytes() const;

private:
  explicit StepGraph(mlir::func::FuncOp func) : func(func) {}

  mutable mlir::func::FuncOp func; ///< A handle; its accessors are not const.
  mlir::Operation *begin = nullptr;
  llvm::SmallVector<mlir::Operation *> forward, backward;
  llvm::DenseMap<mlir::Operation *, int64_t> order;
  llvm::DenseSet<mlir::Value> written; ///< Roots of values returned or written.
};

/// Bytes of a dense tensor.
int64_t bytesOf(mlir::Value value);

/// FLOPs of one execution of `op`; 0 if it does not tell.
int64_t flopsOf(mlir::Operation *op);

} // namespace mpc

#endif // MPC_PASSES_RECOMPUTE_STEPGRAPH_H
