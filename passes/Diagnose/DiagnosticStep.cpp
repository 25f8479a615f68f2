//===- DiagnosticStep.cpp - Copies of the step for diagnosis --------------===//

#include "passes/Diagnose/DiagnosticStep.h"

using namespace mlir;
using namespace mpc;

func::FuncOp mpc::copyStep(func::FuncOp func, EntryRole role) {
  func::FuncOp copy = Program::around(func).copyEntry(func, role);
  SmallVector<train::WriteOp> writes(copy.front().getOps<train::WriteOp>());
  for (train::WriteOp write : writes)
    write.erase();
  return copy;
}

void mpc::returnOnly(func::FuncOp copy, ArrayRef<Output> outputs) {
  setOutputs(copy, outputs);
  eraseDeadOps(copy);
}
