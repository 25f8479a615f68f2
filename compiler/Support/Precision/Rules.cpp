//===- Rules.cpp - Rules that decide the precision of an op ---------------===//

#include "compiler/Support/Precision/Rules.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpc;
using llvm::StringRef;

namespace {
struct Row {
  llvm::StringLiteral id;
  size_t arguments;
};
} // namespace

static constexpr Row kRows[] = {
#define MPC_RULE(Name, id, arguments) {id, arguments},
#include "compiler/Support/Precision/Rules.def"
};

static const Row &rowOf(Rule rule) { return kRows[static_cast<size_t>(rule)]; }

StringRef mpc::idOf(Rule rule) { return rowOf(rule).id; }

std::optional<Rule> mpc::ruleOf(StringRef id) {
  for (auto [i, row] : llvm::enumerate(kRows))
    if (row.id == id)
      return static_cast<Rule>(i);
  return std::nullopt;
}

size_t mpc::numArgumentsOf(Rule rule) { return rowOf(rule).arguments; }

bool mpc::isWithin(StringRef id, Rule rule) {
  return id.consume_front(idOf(rule)) && (id.empty() || id.front() == '.');
}
