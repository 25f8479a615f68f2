//===- DrawnWeights.h - The option --reinit of mpc train --------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_CHECKPOINTS_INITIAL_DRAWNWEIGHTS_H
#define MPC_TOOLS_MPC_CHECKPOINTS_INITIAL_DRAWNWEIGHTS_H

#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/checkpoints/initial/Distribution.h"

#include <map>
#include <string>
#include <vector>

namespace mpc::tool {

/// `--reinit`: parameters that are drawn at random before the first step.
class DrawnWeights {
public:
  /// Adds the option to a command; this must outlive the parsing.
  void addTo(CLI::App &command);

  bool isGiven() const { return !texts.empty(); }

  /// The parameters to draw, by name. If several values of the option match a
  /// parameter, the last one counts. Throws a Failure if a value is malformed
  /// or matches no parameter.
  std::map<std::string, Distribution> select(const Program &program) const;

private:
  std::vector<std::string> texts; ///< REGEX or REGEX=INIT.
};

/// Draws parameters and notes which. The values of a parameter depend only on
/// `seed`, its name and its shape.
void drawWeights(Session &session, const Program &program,
                 const std::map<std::string, Distribution> &drawn,
                 uint64_t seed);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_CHECKPOINTS_INITIAL_DRAWNWEIGHTS_H
