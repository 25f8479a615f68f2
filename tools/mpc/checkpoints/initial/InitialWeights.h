//===- InitialWeights.h - The options --init of mpc train -------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_CHECKPOINTS_INITIAL_INITIALWEIGHTS_H
#define MPC_TOOLS_MPC_CHECKPOINTS_INITIAL_INITIALWEIGHTS_H

#include "passes/Weights/OpenWeights.h"
#include "tools/mpc/base/Runtime.h"

#include <set>
#include <string>
#include <vector>

namespace mpc::tool {

/// `--init`, `--map-names` and `--init-strict`: parameters and statistics are
/// read from a file before the first step, by their names.
class InitialWeights {
public:
  /// Adds the options to a command; this must outlive the parsing.
  void addTo(CLI::App &command);

  /// Throws a Failure if options that need --init are given without it.
  void checkUsage() const;

  bool isGiven() const { return !file.empty(); }

  /// Writes the values to the session, except those of the parameters
  /// `others`. Throws a Failure if a type or a shape does not fit, or, unless
  /// strictness is off, if the names of the file are not those of the program.
  void apply(Session &session, const Program &program,
             const std::set<std::string> &others) const;

  /// Null in an mpc without the compiler.
  OpenWeights *openOnnx = nullptr;

private:
  std::string file;
  std::vector<std::string> maps; ///< REGEX=REPLACEMENT, applied in order.
  std::string strict;            ///< "on", "off", or "": the default.
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_CHECKPOINTS_INITIAL_INITIALWEIGHTS_H
