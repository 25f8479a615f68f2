//===- TrainedOptions.h - Options in checkpoints ----------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_CHECKPOINTS_TRAINEDOPTIONS_H
#define MPC_TOOLS_MPC_CHECKPOINTS_TRAINEDOPTIONS_H

#include "tools/mpc/base/Runtime.h"

#include <string>
#include <vector>

namespace mpc::tool {

/// Stores the options that the program was compiled with as properties of the
/// session, which checkpoints contain.
void rememberOptions(Session &session, const Program &program);

/// An option whose value has changed, with both values in quotes.
struct OptionChange {
  std::string name, before, now;
};

/// How a program differs from the one that wrote the session's checkpoint.
struct OptionChanges {
  bool known = true; ///< False for old checkpoints, which lack the options.
  /// Training may continue with `compatible` changes; with `incompatible` ones
  /// it would be a different training.
  std::vector<OptionChange> compatible, incompatible;
  bool rate = false;       ///< The learning rate has changed.
  bool totalSteps = false; ///< The length of its schedule has changed.
  bool states = false;     ///< An option that adds states has changed.
};
OptionChanges compareOptions(const Session &session, const Program &program);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_CHECKPOINTS_TRAINEDOPTIONS_H
