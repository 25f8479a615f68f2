//===- Rematerialize.h - Forward ops run again ------------------*- C++ -*-===//
#ifndef MPC_PASSES_RECOMPUTE_REMATERIALIZE_H
#define MPC_PASSES_RECOMPUTE_REMATERIALIZE_H

#include "compiler/Analysis/Precision/OpCost.h"
#include "passes/Recompute/StepGraph.h"

namespace mpc {

struct Rematerialized {
  int64_t ops = 0;
  OpCost cost;
};

/// Lets the backward pass of `graph` read nothing that the forward pass made
/// but `kept`: all else is made again right before it is first read.
Rematerialized rematerialize(const StepGraph &graph,
                             const llvm::DenseSet<mlir::Value> &kept);

} // namespace mpc

#endif // MPC_PASSES_RECOMPUTE_REMATERIALIZE_H
