//===- Signals.h - Stop at the end of a step --------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_CONSOLE_SIGNALS_H
#define MPC_TOOLS_MPC_TRAINING_CONSOLE_SIGNALS_H

namespace mpc::tool {

/// While an object exists, SIGINT, SIGTERM, SIGHUP and SIGPIPE do not end the
/// process but are recorded, and SIGINT prints a note to stderr. A second
/// SIGINT or SIGTERM ends the process as usual. Further SIGPIPE and SIGHUP have
/// no effect. SIGINT, SIGHUP and SIGPIPE stay ignored if they were before
/// (`nohup`).
class StopOnSignal {
public:
  StopOnSignal();
  ~StopOnSignal();

  /// The name of the signal that was received ("SIGINT"), or null.
  const char *received() const;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_CONSOLE_SIGNALS_H
