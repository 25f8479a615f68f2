//===- Diagnostics.h - Messages as users read them --------------*- C++ -*-===//
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
/// Names come from makeNodeLoc locations, positions from file locations. The
/// prefix `'train.conv' op` of verifiers is dropped where the node is named,
/// and so is the note that prints the op. Thread-safe, as every handler is.
class ModelDiagnosticHandler : public mlir::ScopedDiagnosticHandler {
public:
  ModelDiagnosticHandler(mlir::MLIRContext *context, llvm::StringRef model,
                         llvm::raw_ostream &os);

  /// Errors seen so far.
  unsigned getNumErrors() const { return numErrors; }

  /// True if one of them was of emitUsageError.
  bool sawUsageError() const { return usageErrors; }

private:
  void print(const mlir::Diagnostic &diagnostic);

  const std::string model;
  llvm::raw_ostream &out;
  unsigned numErrors = 0;
  bool usageErrors = false;
};

/// An error whose cause is an option of the user rather than the model: tools
/// exit with the status for wrong usage.
mlir::InFlightDiagnostic emitUsageError(mlir::Location loc);
bool isUsageError(mlir::Diagnostic &diagnostic);

/// "node 'fc1' (Gemm): input 1 ...": the same without model and severity, as
/// the file has its names.
std::string describe(const mlir::Diagnostic &diagnostic);

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_DIAGNOSTICS_H
