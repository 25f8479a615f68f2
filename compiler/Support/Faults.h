//===- Faults.h - What diagnostics say is wrong -----------------*- C++ -*-===//
#ifndef MPC_COMPILER_SUPPORT_FAULTS_H
#define MPC_COMPILER_SUPPORT_FAULTS_H

#include "mlir/IR/Diagnostics.h"

#include <optional>

namespace mpc {

/// The rows of Faults.def.
enum class Fault {
#define MPC_FAULT(Name, id, meaning) Name,
#include "compiler/Support/Faults.def"
};

/// "unsupported-op"
llvm::StringRef idOf(Fault fault);

/// The fault that a diagnostic reports; nothing if it does not say.
std::optional<Fault> faultOf(mlir::Diagnostic &diagnostic);

/// Says what a diagnostic reports; its text stays the same. The first fault
/// counts.
///
///   return emitError(loc) << Fault::NotConstant << "the condition ...";
void setFault(mlir::Diagnostic &diagnostic, Fault fault);
mlir::InFlightDiagnostic &operator<<(mlir::InFlightDiagnostic &diagnostic,
                                     Fault fault);
mlir::InFlightDiagnostic &&operator<<(mlir::InFlightDiagnostic &&diagnostic,
                                      Fault fault);

/// The fault of all diagnostics while it lives, except for those that name
/// another.
class FaultScope : public mlir::ScopedDiagnosticHandler {
public:
  FaultScope(mlir::MLIRContext *context, Fault fault);
};

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_FAULTS_H
