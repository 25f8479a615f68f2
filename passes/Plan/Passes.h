//===- Passes.h - Plan passes -----------------------------------*- C++ -*-===//
#ifndef MPC_PASSES_PLAN_PASSES_H
#define MPC_PASSES_PLAN_PASSES_H

#include "compiler/Target/Backend.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include "mlir/Pass/Pass.h"

namespace mpc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Plan/Passes.h.inc"
} // namespace mpc

#endif // MPC_PASSES_PLAN_PASSES_H
