//===- Passes.h - Gradient passes -------------------------------*- C++ -*-===//
#ifndef MPC_PASSES_GRAD_PASSES_H
#define MPC_PASSES_GRAD_PASSES_H

#include "compiler/Dialect/Train/IR/Train.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mpc {
struct CompileOptions;

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Grad/Passes.h.inc"

/// Each pass takes its option groups (Options.def) from `options`.
std::unique_ptr<mlir::Pass> createAddLossPass(const CompileOptions &options);
std::unique_ptr<mlir::Pass>
createAddOptimizerPass(const CompileOptions &options);
std::unique_ptr<mlir::Pass>
createDifferentiatePass(const CompileOptions &options,
                        DifferentiatePassOptions own);
std::unique_ptr<mlir::Pass>
createPackUpdatesPass(const CompileOptions &options);
} // namespace mpc

#endif // MPC_PASSES_GRAD_PASSES_H
