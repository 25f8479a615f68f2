//===- Passes.h - Graph passes ----------------------------------*- C++ -*-===//
#ifndef MPC_PASSES_GRAPH_PASSES_H
#define MPC_PASSES_GRAPH_PASSES_H

#include "compiler/Dialect/Train/IR/Train.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mpc {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Graph/Passes.h.inc"
} // namespace mpc

#endif // MPC_PASSES_GRAPH_PASSES_H
