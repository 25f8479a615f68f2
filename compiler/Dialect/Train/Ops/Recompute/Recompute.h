//===- Recompute.h - Values that are made twice -----------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_OPS_RECOMPUTE_RECOMPUTE_H
#define MPC_COMPILER_DIALECT_TRAIN_OPS_RECOMPUTE_RECOMPUTE_H

#include "compiler/Dialect/Train/IR/Train.h"

#define GET_OP_CLASSES
#include "compiler/Dialect/Train/IR/RecomputeOps.h.inc"

namespace mpc::train {

/// The value of the forward pass behind all barriers, which keep `value` apart
/// from it.
mlir::Value skipBarriers(mlir::Value value);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_OPS_RECOMPUTE_RECOMPUTE_H
