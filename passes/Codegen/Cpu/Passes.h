//===- Passes.h - Codegen passes for CPUs -----------------------*- C++ -*-===//
#ifndef MPC_PASSES_CODEGEN_CPU_PASSES_H
#define MPC_PASSES_CODEGEN_CPU_PASSES_H

#include "compiler/Analysis/KernelSchedule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mpc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Codegen/Cpu/Passes.h.inc"
} // namespace mpc

#endif // MPC_PASSES_CODEGEN_CPU_PASSES_H
