//===- Reasons.cpp - Texts of decisions -----------------------------------===//

#include "compiler/Report/Model/Reasons.h"

#include "compiler/Report/Model/Rules.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mpc;
using namespace mpc::report;
using llvm::StringRef;

namespace {
struct Row {
  Rule rule;
  llvm::StringLiteral group, text;
};
} // namespace

static constexpr Row kReasons[] = {
#define MPC_REASON(Name, group, text) {Rule::Name, group, text},
#include "compiler/Report/Model/Reasons.def"
};

/// Returns true if rows are in the order of the rules, so that a rule is an
/// index.
static constexpr bool areInOrder() {
  for (size_t i = 0; i < std::size(kReasons); ++i)
    if (static_cast<size_t>(kReasons[i].rule) != i)
      return false;
  return true;
}
static_assert(areInOrder(), "Reasons.def must have the rows of Rules.def");
#define MPC_RULE(Name, id, arguments) +1
static constexpr size_t kNumRules = 0
#include "compiler/Support/Precision/Rules.def"
    ;
static_assert(std::size(kReasons) == kNumRules,
              "Reasons.def must have a row for each rule");

static const Row &rowOf(Rule rule) {
  return kReasons[static_cast<size_t>(rule)];
}

StringRef report::groupOf(Rule rule) { return rowOf(rule).group; }

/// Writes `argument`; formats a number as `spec` says.
static void print(llvm::raw_ostream &os, const Argument &argument,
                  StringRef spec) {
  if (const auto *text = std::get_if<std::string>(&argument))
    os << *text;
  else if (const auto *integer = std::get_if<int64_t>(&argument))
    os << *integer;
  else
    os << llvm::format(spec.str().c_str(), std::get<double>(argument));
}

std::string report::textOf(Rule rule, llvm::ArrayRef<Argument> arguments) {
  std::string text;
  llvm::raw_string_ostream os(text);
  StringRef rest = rowOf(rule).text;
  while (!rest.empty()) {
    auto [before, after] = rest.split('{');
    os << before;
    auto [field, behind] = after.split('}');
    auto [index, spec] = field.split(':');
    size_t place;
    if (!index.getAsInteger(10, place) && place < arguments.size())
      print(os, arguments[place], spec.empty() ? "%g" : spec);
    rest = behind;
  }
  return text;
}

std::string report::reasonOf(Rule rule, llvm::ArrayRef<Argument> arguments,
                             StringRef own) {
  std::string text = textOf(rule, arguments);
  StringRef id = idOf(rule);
  if (rule == Rule::Class || rule == Rule::Pin)
    return own.str();
  if (groupOf(rule) == groupOf(Rule::CutReadsWide) && !own.empty())
    return own.str() + "; " + text;
  if (id.starts_with(kNotFp8Id))
    return kNotFp8.str() + text;
  return text;
}

std::string report::proofOf(StringRef format, StringRef range) {
  return (format + " holds its result, which is proven to lie in " + range)
      .str();
}
