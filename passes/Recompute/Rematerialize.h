//===- Rematerialize.h - Recomputation of forward ops -----------*- C++ -*-===//
#ifndef MPC_PASSES_RECOMPUTE_REMATERIALIZE_H
#define MPC_PASSES_RECOMPUTE_REMATERIALIZE_H

#include "compiler/Analysis/Precision/OpCost.h"
#include "passes/Recompute/StepGraph.h"

namespace mpc {

struct Rematerialized {
  int64_t ops = 0;
  OpCost cost;
};

/// Makes the backward pass of `graph` read only the values `kept` of the
/// forward pass: all others are recomputed right before they are first read.
Rematerialized rematerialize(const StepGraph &graph,
                             const llvm::DenseSet<mlir::Value> &kept);

} // namespace mpc

#endif // MPC_PASSES_RECOMPUTE_REMATERIALIZE_H
