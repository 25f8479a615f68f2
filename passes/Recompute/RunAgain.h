//===- RunAgain.h - Copies of forward ops in the backward pass --*- C++ -*-===//
#ifndef MPC_PASSES_RECOMPUTE_RUNAGAIN_H
#define MPC_PASSES_RECOMPUTE_RUNAGAIN_H

#include "compiler/Analysis/Precision/OpCost.h"
#include "passes/Recompute/StepGraph.h"

namespace mpc {

struct Rerun {
  int64_t ops = 0;
  OpCost cost;
};

/// Lets the backward pass of `graph` read nothing that the forward pass made
/// but `kept`: all else is made again right before it is first read.
Rerun runAgain(const StepGraph &graph, const llvm::DenseSet<mlir::Value> &kept);

} // namespace mpc

#endif // MPC_PASSES_RECOMPUTE_RUNAGAIN_H
