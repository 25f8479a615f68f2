//===- Reasons.h - Texts of decisions ---------------------------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_MODEL_REASONS_H
#define MPC_COMPILER_REPORT_MODEL_REASONS_H

#include "compiler/Support/Precision/Rules.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>
#include <variant>

namespace mpc::report {

/// An argument of a decision.
using Argument = std::variant<std::string, int64_t, double>;

/// The name of the mechanism behind a rule, such as "minimum cut".
llvm::StringRef groupOf(Rule rule);

/// The text of a row of Reasons.def with its arguments.
std::string textOf(Rule rule, llvm::ArrayRef<Argument> arguments);

/// The sentence of the report. `own` is the op's reason for its class, which is
/// part of the sentence if the rule depends on the class.
std::string reasonOf(Rule rule, llvm::ArrayRef<Argument> arguments,
                     llvm::StringRef own);

/// The report's text for an op whose class differs from its own class because
/// its values are proven to lie in `range`, which fits in `format`.
std::string proofOf(llvm::StringRef format, llvm::StringRef range);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_MODEL_REASONS_H
