//===- Weights.h - Which weights a command takes ----------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_CHECKPOINTS_WEIGHTS_H
#define MPC_TOOLS_MPC_CHECKPOINTS_WEIGHTS_H

#include "tools/mpc/base/Runtime.h"

namespace mpc::tool {

/// `--weights`: as training left them, or their average.
class WeightsChoice {
public:
  /// Adds the option to a command; this must outlive the parsing.
  void addTo(CLI::App &command);

  /// Puts the average in the place of the weights if it is wanted, or says
  /// that there is one. Throws a Failure if there is none.
  void apply(Session &session, const Program &program) const;

  /// The state that has what `weight` is to be, to its last digit: apply()
  /// rounds an average where weights are bf16.
  std::string sourceOf(const Session &session, const Program &program,
                       const mpc_state_info_t &weight) const;

private:
  std::string which; ///< "" is raw, but nobody said so.
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_CHECKPOINTS_WEIGHTS_H
