//===- ChooseSaved.h - What to keep for the backward pass -------*- C++ -*-===//
#ifndef MPC_PASSES_RECOMPUTE_CHOOSESAVED_H
#define MPC_PASSES_RECOMPUTE_CHOOSESAVED_H

#include "passes/Recompute/StepGraph.h"

#include <vector>

namespace mpc {

/// A value that is all that later ops read of what the forward pass computes
/// before them, from `position` on. Numbers apart, and what is computed from
/// inputs alone, such as masks, which all layers read.
struct Waist {
  mlir::Value value;
  int64_t position;
};

/// All of them, in order.
std::vector<Waist> findWaists(const StepGraph &graph);

/// How far recomputation goes. Positions are those of forward ops.
struct Extent {
  int64_t cheapUntil = -1; ///< Cheap ops up to here may run again.
  int64_t allUntil = -1;   ///< All ops up to here may,
  llvm::DenseSet<mlir::Value> checkpoints; ///< from these values on.
};

/// The `waists` to keep so that they and the largest block between two of them
/// take least.
std::vector<Waist> chooseCheckpoints(const StepGraph &graph,
                                     mlir::ArrayRef<Waist> waists);

/// The values that are kept: of all choices within `extent` the one with fewest
/// bytes, and of these the one that runs least again.
llvm::DenseSet<mlir::Value> chooseSaved(const StepGraph &graph,
                                        const Extent &extent);

} // namespace mpc

#endif // MPC_PASSES_RECOMPUTE_CHOOSESAVED_H
