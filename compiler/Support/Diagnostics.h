//===- Diagnostics.h - Diagnostics in terms of the model --------*- C++ -*-===//
#ifndef MPC_COMPILER_SUPPORT_DIAGNOSTICS_H
#define MPC_COMPILER_SUPPORT_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace mpc {

/// While it lives, prints the diagnostics of a context in terms of the model:
///
///   model.onnx: node 'enc/0/ln' (LayerNormalization): error: input 1 ...
///   model.onnx: node 'enc/0/reshape' (Reshape): note: 'X' comes from here
///   model.onnx: initializer 'fc1.weight': error: ...
///   model.onnxtxt:3:14: error: ...
///
/// Names come from makeNodeLoc locations, positions from file locations. If the
/// node is named, the verifier's prefix `'train.conv' op` and the note that
/// prints the op are dropped. Thread-safe, as every handler is.
class ModelDiagnosticHandler : public mlir::ScopedDiagnosticHandler {
public:
  ModelDiagnosticHandler(mlir::MLIRContext *context, llvm::StringRef model,
                         llvm::raw_ostream &os);

  /// The number of errors so far.
  unsigned getNumErrors() const { return numErrors; }

  /// Returns true if one of the errors came from emitUsageError.
  bool sawUsageError() const { return usageErrors; }

private:
  void print(const mlir::Diagnostic &diagnostic);

  const std::string model;
  llvm::raw_ostream &out;
  unsigned numErrors = 0;
  bool usageErrors = false;
};

/// Reports an error that is caused by an option rather than by the model: tools
/// exit with the status for wrong usage.
mlir::InFlightDiagnostic emitUsageError(mlir::Location loc);
bool isUsageError(mlir::Diagnostic &diagnostic);

/// "node 'fc1' (Gemm): input 1 ...": the message without model and severity,
/// with names as the file has them.
std::string describe(const mlir::Diagnostic &diagnostic);

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_DIAGNOSTICS_H
