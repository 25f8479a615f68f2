//===- DiagnosticStep.h - The step, with intermediates ----------*- C++ -*-===//
//
// Fused programs keep no intermediate values, and to keep them would make
// another program of the step: so a copy of it computes them again, in the same
// types and order, and changes nothing.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_DIAGNOSE_DIAGNOSTICSTEP_H
#define MPC_PASSES_DIAGNOSE_DIAGNOSTICSTEP_H

#include "passes/Grad/EntryPoints.h"

namespace mpc {

/// A copy of `func` at the end of its module that writes no state.
mlir::func::FuncOp copyStep(mlir::func::FuncOp func, EntryRole role);

/// Lets a copy return `outputs` and nothing else; what only served the rest,
/// the update above all, is gone then.
void showInstead(mlir::func::FuncOp copy, llvm::ArrayRef<Output> outputs);

} // namespace mpc

#endif // MPC_PASSES_DIAGNOSE_DIAGNOSTICSTEP_H
