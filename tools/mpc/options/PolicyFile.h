//===- PolicyFile.h - Precision rules in a file -----------------*- C++ -*-===//
//
// Rules like those of --op-precision in a file, which can be kept, shared, and
// written by programs:
//
//   version = 1
//   precision = "bf16"
//
//   [[rule]]
//   match = "^head$"
//   format = "fp32"
//
// `precision` is optional, as is `residual`, which has the values of
// --residual. Rules are those of mpc-assign-precision: later rules override
// earlier ones.
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
  unsigned line = 0;  ///< In a policy file; 0 for a rule from an option.
};

struct PrecisionPolicy {
  std::string precision; ///< "" if not given.
  std::string residual;  ///< "" if not given.
  std::vector<PrecisionRule> rules;
};

/// Reads a file; throws a Failure that names the line and what is wrong with
/// it.
PrecisionPolicy readPolicy(const std::string &path);

/// The text of a file with this policy.
std::string printPolicy(const PrecisionPolicy &policy);

/// Parses the value "REGEX=FORMAT" of `option`; throws a Failure if it is
/// invalid.
PrecisionRule parsePrecisionRule(const std::string &option,
                                 const std::string &text);

/// The rule as "REGEX=FORMAT".
std::string formatRule(const PrecisionRule &rule);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_OPTIONS_POLICYFILE_H
