//===- ModelMessage.h - Diagnostics in parts --------------------*- C++ -*-===//
#ifndef MPC_COMPILER_SUPPORT_MODELMESSAGE_H
#define MPC_COMPILER_SUPPORT_MODELMESSAGE_H

#include "mlir/IR/Diagnostics.h"

#include <string>
#include <vector>

namespace mpc {

/// A diagnostic, or a note attached to the one before it, for callers that do
/// not print it. All texts are valid UTF-8 without control characters.
struct ModelMessage {
  mlir::DiagnosticSeverity severity;
  std::string node; ///< "" if the message is not about a node.
  std::string op;   ///< "Gemm", or a kind of object: "initializer".
  std::string text; ///< Names neither of them.
  std::string rule; ///< The id of its Fault; "" for notes.
};

/// While it lives, appends the diagnostics of a context to `messages`. They go
/// on to the handler that was there before.
class ModelMessageCollector : public mlir::ScopedDiagnosticHandler {
public:
  ModelMessageCollector(mlir::MLIRContext *context,
                        std::vector<ModelMessage> &messages);
};

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_MODELMESSAGE_H
