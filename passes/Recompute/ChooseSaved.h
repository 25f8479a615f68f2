//===- ChooseSaved.h - Choose the values to save ----------------*- C++ -*-===//
#ifndef MPC_PASSES_RECOMPUTE_CHOOSESAVED_H
#define MPC_PASSES_RECOMPUTE_CHOOSESAVED_H

#include "passes/Recompute/StepGraph.h"

#include <vector>

namespace mpc {

/// A value that, from `position` on, is the only earlier forward value that
/// later ops read. Scalars do not count, nor do values computed from inputs
/// alone, such as masks, which all layers read.
struct SingleValueCut {
  mlir::Value value;
  int64_t position;
};

/// All such cuts, in order.
std::vector<SingleValueCut> findSingleValueCuts(const StepGraph &graph);

/// How far recomputation goes. Positions are those of forward ops.
struct Extent {
  int64_t cheapUntil = -1; ///< Cheap ops up to here may be recomputed.
  int64_t allUntil = -1;   ///< All ops up to here may be,
  llvm::DenseSet<mlir::Value> checkpoints; ///< from these values on.
};

/// Chooses the `cuts` to keep such that the memory of these and of the
/// largest block between two of them is minimal.
std::vector<SingleValueCut>
chooseCheckpoints(const StepGraph &graph, mlir::ArrayRef<SingleValueCut> cuts);

/// The values to keep: among all choices within `extent` the one with the
/// fewest bytes, and among these the one that recomputes the least.
llvm::DenseSet<mlir::Value> chooseSaved(const StepGraph &graph,
                                        const Extent &extent);

} // namespace mpc

#endif // MPC_PASSES_RECOMPUTE_CHOOSESAVED_H
