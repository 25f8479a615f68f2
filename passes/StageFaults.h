//===- StageFaults.h - Faults found after a stage ---------------*- C++ -*-===//
#ifndef MPC_PASSES_STAGEFAULTS_H
#define MPC_PASSES_STAGEFAULTS_H

#include "mlir/IR/Diagnostics.h"

namespace mpc {

/// Base of passes that verify a stage. They report all faults, not only the
/// first.
class StageFaults {
protected:
  /// Reports a fault and the pass that should have prevented it.
  void fail(mlir::Location loc, llvm::StringRef culprit,
            const llvm::Twine &message) {
    mlir::emitError(loc, message).attachNote()
        << "expected " << culprit << " to prevent this";
    failed = true;
  }

  bool failed = false;
};

} // namespace mpc

#endif // MPC_PASSES_STAGEFAULTS_H
