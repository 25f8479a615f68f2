//===- Recompute.h - Values that are computed twice -------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_OPS_RECOMPUTE_RECOMPUTE_H
#define MPC_COMPILER_DIALECT_TRAIN_OPS_RECOMPUTE_RECOMPUTE_H

#include "compiler/Dialect/Train/IR/Train.h"

#define GET_OP_CLASSES
#include "compiler/Dialect/Train/IR/RecomputeOps.h.inc"

namespace mpc::train {

/// Looks through all rematerialisation barriers: returns the value of the
/// forward pass that `value` is.
mlir::Value skipBarriers(mlir::Value value);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_OPS_RECOMPUTE_RECOMPUTE_H
