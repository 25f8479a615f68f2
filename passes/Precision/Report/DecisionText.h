//===- DecisionText.h - Decisions as text -----------------------*- C++ -*-===//
#ifndef MPC_PASSES_PRECISION_REPORT_DECISIONTEXT_H
#define MPC_PASSES_PRECISION_REPORT_DECISIONTEXT_H

#include "compiler/Dialect/Amp/IR/Decision.h"

#include <string>

namespace mpc {

/// The text for a decision in compiler/Report, for errors.
std::string textOf(const amp::Decision &decision);

/// The report's sentence for an op with `decision`; `own` is the op's own
/// reason for its class.
std::string reasonOf(amp::DecisionAttr decision, llvm::StringRef own);

} // namespace mpc

#endif // MPC_PASSES_PRECISION_REPORT_DECISIONTEXT_H
