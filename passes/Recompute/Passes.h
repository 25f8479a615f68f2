//===- Passes.h - Recomputation passes --------------------------*- C++ -*-===//
#ifndef MPC_PASSES_RECOMPUTE_PASSES_H
#define MPC_PASSES_RECOMPUTE_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mpc {
struct CompileOptions;

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Recompute/Passes.h.inc"

/// The pass takes its option groups (Options.def) from `options`.
std::unique_ptr<mlir::Pass> createRecomputePass(const CompileOptions &options);
} // namespace mpc

#endif // MPC_PASSES_RECOMPUTE_PASSES_H
