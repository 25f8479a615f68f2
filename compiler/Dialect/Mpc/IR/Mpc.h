//===- Mpc.h - Attributes of programs ---------------------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_MPC_IR_MPC_H
#define MPC_COMPILER_DIALECT_MPC_IR_MPC_H

#include "compiler/Attributes/Attributes.h"

#include "mlir/IR/Dialect.h"

#include "compiler/Dialect/Mpc/IR/MpcDialect.h.inc"

#endif // MPC_COMPILER_DIALECT_MPC_IR_MPC_H
