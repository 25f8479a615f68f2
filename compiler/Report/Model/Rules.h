//===- Rules.h - Ids of rules in reports of earlier versions ----*- C++ -*-===//
//
// Today a decision carries the id of its rule
// (compiler/Support/Precision/Rules.def). Packages of earlier versions have a
// sentence only; the id is found by a phrase in it.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_REPORT_MODEL_RULES_H
#define MPC_COMPILER_REPORT_MODEL_RULES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mpc::report {

/// Begins the ids of rules that kept a product from FP8, and the sentences.
inline constexpr llvm::StringLiteral kNotFp8Id = "fp8.kept";
inline constexpr llvm::StringLiteral kNotFp8 = "16 bit, not fp8: ";

struct OldRule {
  llvm::StringLiteral id;
  llvm::StringLiteral rule;   ///< As an op of a report has it.
  llvm::StringLiteral phrase; ///< In the reason; "" for any.
};

llvm::ArrayRef<OldRule> oldRules();

/// The id for what an old report says of an op: "class", "cut.reads-f32";
/// "other" for an unknown rule, "" for none.
llvm::StringRef oldRuleId(llvm::StringRef rule, llvm::StringRef reason);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_MODEL_RULES_H
