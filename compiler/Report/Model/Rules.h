//===- Rules.h - Ids of rules in reports of earlier versions ----*- C++ -*-===//
//
// Decisions have the id of their rule (compiler/Support/Precision/Rules.def).
// Packages of earlier versions have only a sentence; the id is found by a
// phrase in it.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_REPORT_MODEL_RULES_H
#define MPC_COMPILER_REPORT_MODEL_RULES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mpc::report {

/// Prefixes of the ids and the sentences of rules that kept a product from FP8.
inline constexpr llvm::StringLiteral kNotFp8Id = "fp8.kept";
inline constexpr llvm::StringLiteral kNotFp8 = "16 bit, not fp8: ";

struct OldRule {
  llvm::StringLiteral id;
  llvm::StringLiteral rule;   ///< The field `rule` of an op.
  llvm::StringLiteral phrase; ///< Part of the reason; "" for any.
};

llvm::ArrayRef<OldRule> oldRules();

/// The id for the rule and reason of an op in an old report: "class",
/// "cut.reads-f32"; "other" for an unknown rule, "" for none.
llvm::StringRef oldRuleId(llvm::StringRef rule, llvm::StringRef reason);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_MODEL_RULES_H
