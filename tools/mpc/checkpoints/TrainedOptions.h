//===- TrainedOptions.h - What a checkpoint was trained with ----*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_CHECKPOINTS_TRAINEDOPTIONS_H
#define MPC_TOOLS_MPC_CHECKPOINTS_TRAINEDOPTIONS_H

#include "tools/mpc/base/Runtime.h"

#include <string>
#include <vector>

namespace mpc::tool {

/// Puts the options that the program was compiled with among the session's
/// properties, which a checkpoint has.
void rememberOptions(Session &session, const Program &program);

/// How a program differs from the one that the session's checkpoint is of.
struct OptionChanges {
  bool known = true; ///< Checkpoints did not always say what made them.
  /// "lr 0.01 instead of 0.001": what training continues with, and what makes
  /// it the training of something else.
  std::vector<std::string> milder, graver;
  bool rate = false;       ///< The learning rate is among them.
  bool totalSteps = false; ///< So is the length of its schedule.
  bool states = false;     ///< So are some that come with states of their own.
};
OptionChanges compareOptions(const Session &session, const Program &program);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_CHECKPOINTS_TRAINEDOPTIONS_H
