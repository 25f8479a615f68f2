//===- PolicyFile.h - Precisions by name, in a file -------------*- C++ -*-===//
//
// What --op-precision says, to keep, to share, and to be written by a program:
//
//   version = 1
//   precision = "bf16"
//
//   [[rule]]
//   match = "^head$"
//   format = "fp32"
//
// `precision` may be absent, and so may `residual`, which is what --residual
// says. Rules are those of mpc-assign-precision: a later one overrides an
// earlier one.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TOOLS_MPC_OPTIONS_POLICYFILE_H
#define MPC_TOOLS_MPC_OPTIONS_POLICYFILE_H

#include <string>
#include <vector>

namespace mpc::tool {

struct PrecisionRule {
  std::string match;  ///< Regex of node names and op types.
  std::string format; ///< fp32, low, or the program's 16-bit format.
};

struct PrecisionPolicy {
  std::string precision; ///< "" if the file does not say.
  std::string residual;  ///< The same.
  std::vector<PrecisionRule> rules;
};

/// Throws a Failure that names the line and what is wrong with it.
PrecisionPolicy readPolicy(const std::string &path);

/// The text of a file that says the same.
std::string printPolicy(const PrecisionPolicy &policy);

/// Parses "REGEX=FORMAT" of `option`; throws a Failure if it is none.
PrecisionRule parsePrecisionRule(const std::string &option,
                                 const std::string &text);

/// The rule as "REGEX=FORMAT".
std::string formatRule(const PrecisionRule &rule);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_OPTIONS_POLICYFILE_H
