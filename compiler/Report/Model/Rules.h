//===- Rules.h - What decided a precision, by names that stay ---*- C++ -*-===//
//
// What programs may rely on are the ids. The words for people beside them may
// change; the phrases here are what a reason is told by, so those who write
// reasons take them from here.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_REPORT_MODEL_RULES_H
#define MPC_COMPILER_REPORT_MODEL_RULES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mpc::report {

// Why an op that has no choice is f32.
inline constexpr llvm::StringLiteral kSingleNumber =
    "a single number is never rounded";
inline constexpr llvm::StringLiteral kDoesNotFit = " do not fit ";
inline constexpr llvm::StringLiteral kUnboundedInput =
    "inputs stay f32 up to a product or a norm";
inline constexpr llvm::StringLiteral kPlace =
    "numbers that say where something is read stay f32";
inline constexpr llvm::StringLiteral kOfParameters =
    "what is computed from parameters alone stays f32 up to a product";

// What the other answer of a minimum cut would do; the last three stand behind
// the name of the answer, with bytes in between.
inline constexpr llvm::StringLiteral kNoProductNear =
    "no product near that reads or writes 16 bit";
inline constexpr llvm::StringLiteral kPinnedOperand =
    "an operand that is f32 in every precision";
inline constexpr llvm::StringLiteral kNearPole =
    "small numbers would become 0, of which a reader has no value";
inline constexpr llvm::StringLiteral kReadsWide = "what it reads is f32";
inline constexpr llvm::StringLiteral kMovesMore = " bytes more";
inline constexpr llvm::StringLiteral kSavesNothing = " would save no bytes";
inline constexpr llvm::StringLiteral kSavesTooLittle = " bytes, too few";

// Of an op that would be f32 for the range of f16, behind the format; what is
// proven stands behind it.
inline constexpr llvm::StringLiteral kProvenToFit =
    " holds what it makes, which is proven to be in ";

// Of products that might have been FP8 and are not; the reason is behind it.
inline constexpr llvm::StringLiteral kNotFp8 = "16 bit, not fp8: ";

struct Rule {
  llvm::StringLiteral id;
  llvm::StringLiteral rule;   ///< As an op of a report has it.
  llvm::StringLiteral phrase; ///< In the reason; "" for any.
};

/// All of them. An id is never renamed, nor given to anything else.
llvm::ArrayRef<Rule> allRules();

/// The id for what a report says of an op: "class", "cut.reads-f32"; of a rule
/// that this program does not know "other", of none "".
llvm::StringRef ruleId(llvm::StringRef rule, llvm::StringRef reason);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_MODEL_RULES_H
