//===- Reasons.h - Words for decisions --------------------------*- C++ -*-===//
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

/// "minimum cut": what people call the mechanism behind a rule.
llvm::StringRef groupOf(Rule rule);

/// The text of a row of Reasons.def with its arguments.
std::string textOf(Rule rule, llvm::ArrayRef<Argument> arguments);

/// The sentence of the report. `own` is what the op says of its class, which is
/// part of the sentence where a rule rests on the class.
std::string reasonOf(Rule rule, llvm::ArrayRef<Argument> arguments,
                     llvm::StringRef own);

/// What the report says of an op whose class is another than its own, because
/// its values are proven to be in `range`, which `format` holds.
std::string proofOf(llvm::StringRef format, llvm::StringRef range);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_MODEL_REASONS_H
