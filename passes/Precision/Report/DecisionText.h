//===- DecisionText.h - Decisions as text -----------------------*- C++ -*-===//
#ifndef MPC_PASSES_PRECISION_REPORT_DECISIONTEXT_H
#define MPC_PASSES_PRECISION_REPORT_DECISIONTEXT_H

#include "compiler/Dialect/Amp/IR/Decision.h"

#include <string>

namespace mpc {

/// What compiler/Report says of a decision, in an error.
std::string textOf(const amp::Decision &decision);

/// The sentence of the report for an op with `decision`; `own` is what the op
/// says of its class.
std::string reasonOf(amp::DecisionAttr decision, llvm::StringRef own);

} // namespace mpc

#endif // MPC_PASSES_PRECISION_REPORT_DECISIONTEXT_H
