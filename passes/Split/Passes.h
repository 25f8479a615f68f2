//===- Passes.h - Splitting a step ------------------------------*- C++ -*-===//
#ifndef MPC_PASSES_SPLIT_PASSES_H
#define MPC_PASSES_SPLIT_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mpc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Split/Passes.h.inc"
} // namespace mpc

#endif // MPC_PASSES_SPLIT_PASSES_H
