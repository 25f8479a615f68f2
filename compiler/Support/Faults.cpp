//===- Faults.cpp - What diagnostics say is wrong -------------------------===//

#include "compiler/Support/Faults.h"

using namespace mlir;
using namespace mpc;

static constexpr llvm::StringLiteral kFaultIds[] = {
#define MPC_FAULT(Name, id, meaning) id,
#include "compiler/Support/Faults.def"
};

llvm::StringRef mpc::idOf(Fault fault) {
  return kFaultIds[static_cast<size_t>(fault)];
}

std::optional<Fault> mpc::faultOf(Diagnostic &diagnostic) {
  for (const DiagnosticArgument &argument : diagnostic.getMetadata()) {
    if (argument.getKind() !=
        DiagnosticArgument::DiagnosticArgumentKind::String)
      continue;
    const auto *id = llvm::find(kFaultIds, argument.getAsString());
    if (id != std::end(kFaultIds))
      return static_cast<Fault>(id - std::begin(kFaultIds));
  }
  return std::nullopt;
}

void mpc::setFault(Diagnostic &diagnostic, Fault fault) {
  diagnostic.getMetadata().push_back(DiagnosticArgument(idOf(fault)));
}

InFlightDiagnostic &mpc::operator<<(InFlightDiagnostic &diagnostic,
                                    Fault fault) {
  setFault(*diagnostic.getUnderlyingDiagnostic(), fault);
  return diagnostic;
}

InFlightDiagnostic &&mpc::operator<<(InFlightDiagnostic &&diagnostic,
                                     Fault fault) {
  return std::move(diagnostic << fault);
}

mpc::FaultScope::FaultScope(MLIRContext *context, Fault fault)
    : ScopedDiagnosticHandler(context) {
  setHandler([fault](Diagnostic &diagnostic) {
    if (!faultOf(diagnostic))
      setFault(diagnostic, fault);
    return failure(); // The handler before it gets the diagnostic, too.
  });
}
