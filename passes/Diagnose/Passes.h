//===- Passes.h - Passes for diagnosing a step ------------------*- C++ -*-===//
#ifndef MPC_PASSES_DIAGNOSE_PASSES_H
#define MPC_PASSES_DIAGNOSE_PASSES_H

#include "compiler/Dialect/Amp/IR/Amp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mpc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Diagnose/Passes.h.inc"
} // namespace mpc

#endif // MPC_PASSES_DIAGNOSE_PASSES_H
