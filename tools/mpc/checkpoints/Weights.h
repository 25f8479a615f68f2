//===- Weights.h - The option --weights -------------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_CHECKPOINTS_WEIGHTS_H
#define MPC_TOOLS_MPC_CHECKPOINTS_WEIGHTS_H

#include "tools/mpc/base/Runtime.h"

namespace mpc::tool {

/// `--weights`: use the trained weights or their moving average.
class WeightsChoice {
public:
  /// Adds the option to a command; this must outlive the parsing.
  void addTo(CLI::App &command);

  /// Replaces the weights by their average if the option asks for it (throws a
  /// Failure if there is none); otherwise notes that there is an average.
  void apply(Session &session, const Program &program) const;

  /// The state that holds the chosen value of `weight` in full precision:
  /// apply() rounds an average if weights are bf16.
  std::string sourceOf(const Session &session, const Program &program,
                       const mpc_state_info_t &weight) const;

private:
  std::string which; ///< "": not given, the default is raw.
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_CHECKPOINTS_WEIGHTS_H
