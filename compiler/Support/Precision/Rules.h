//===- Rules.h - Rules that decide the precision of an op -------*- C++ -*-===//
#ifndef MPC_COMPILER_SUPPORT_PRECISION_RULES_H
#define MPC_COMPILER_SUPPORT_PRECISION_RULES_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace mpc {

/// The rows of Rules.def.
enum class Rule {
#define MPC_RULE(Name, id, arguments) Name,
#include "compiler/Support/Precision/Rules.def"
};

/// "cut.moves-more"
llvm::StringRef idOf(Rule rule);

/// The rule with this id; nothing if there is none.
std::optional<Rule> ruleOf(llvm::StringRef id);

/// The number of arguments of a decision by this rule.
size_t numArgumentsOf(Rule rule);

/// Returns true if `id` is that of `rule` or of a rule within it.
bool isWithin(llvm::StringRef id, Rule rule);

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_PRECISION_RULES_H
