//===- Passes.h - Gradient passes -------------------------------*- C++ -*-===//
#ifndef MPC_PASSES_GRAD_PASSES_H
#define MPC_PASSES_GRAD_PASSES_H

#include "compiler/Dialect/Train/IR/Train.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mpc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Grad/Passes.h.inc"

/// Of a module without parameters: `predict` stays its only entry point, for
/// there is nothing to train.
inline constexpr llvm::StringLiteral kPredictOnlyAttr = "mpc.predict_only";
} // namespace mpc

#endif // MPC_PASSES_GRAD_PASSES_H
