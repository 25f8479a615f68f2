//===- Recompute.h - Values that are made twice -----------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_OPS_RECOMPUTE_RECOMPUTE_H
#define MPC_COMPILER_DIALECT_TRAIN_OPS_RECOMPUTE_RECOMPUTE_H

#include "compiler/Dialect/Train/IR/Train.h"

#define GET_OP_CLASSES
#include "compiler/Dialect/Train/IR/RecomputeOps.h.inc"

#endif // MPC_COMPILER_DIALECT_TRAIN_OPS_RECOMPUTE_RECOMPUTE_H
