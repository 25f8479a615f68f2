//===- DiagnosticStep.h - Copies of the step for diagnosis ------*- C++ -*-===//
//
// Fused programs keep no intermediate values, and keeping them would change the
// step. So a copy of the step recomputes them, in the same types and order,
// without changing any state.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_DIAGNOSE_DIAGNOSTICSTEP_H
#define MPC_PASSES_DIAGNOSE_DIAGNOSTICSTEP_H

#include "passes/Grad/EntryPoints.h"

namespace mpc {

/// Makes a copy of `func`, at the end of its module, that writes no state.
mlir::func::FuncOp copyStep(mlir::func::FuncOp func, EntryRole role);

/// Makes a copy return `outputs` and nothing else. Ops that only served other
/// results, above all the update, are removed.
void returnOnly(mlir::func::FuncOp copy, llvm::ArrayRef<Output> outputs);

} // namespace mpc

#endif // MPC_PASSES_DIAGNOSE_DIAGNOSTICSTEP_H
