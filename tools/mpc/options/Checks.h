//===- Checks.h - Validators of options -------------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_OPTIONS_CHECKS_H
#define MPC_TOOLS_MPC_OPTIONS_CHECKS_H

#include "passes/Options/OptionChecks.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::tool {

/// The validator of an option, described by the words it accepts: "low|fp32".
inline CLI::Validator asValidator(OptionCheck check) {
  std::string words;
  for (const std::string &word : check.words)
    words += (words.empty() ? "" : "|") + word;
  return CLI::Validator(
      [check = std::move(check)](std::string &value) { return check(value); },
      words, "");
}

inline CLI::Validator Choice(std::vector<std::string> words) {
  return asValidator(check::choice(std::move(words)));
}
inline CLI::Validator Whole(uint64_t low, uint64_t high = INT64_MAX) {
  return asValidator(check::whole(low, high));
}
inline CLI::Validator AtLeast(double low) {
  return asValidator(check::atLeast(low));
}
inline CLI::Validator Above(double low) {
  return asValidator(check::above(low));
}
inline CLI::Validator NotEmpty() { return asValidator(check::notEmpty()); }
inline CLI::Validator HalfOpenUnit() {
  return asValidator(check::halfOpenUnit());
}

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_OPTIONS_CHECKS_H
