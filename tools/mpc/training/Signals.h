//===- Signals.h - Stopping at the end of a step ----------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_SIGNALS_H
#define MPC_TOOLS_MPC_TRAINING_SIGNALS_H

namespace mpc::tool {

/// While one exists, SIGINT, SIGTERM, SIGHUP and SIGPIPE only leave a mark, and
/// SIGINT a note on stderr. A second SIGINT or SIGTERM ends the process at
/// once, as usual. After a SIGPIPE or SIGHUP no other one does harm. SIGINT,
/// SIGHUP and SIGPIPE stay ignored where they were (`nohup`).
class StopOnSignal {
public:
  StopOnSignal();
  ~StopOnSignal();

  /// The name of the signal that came ("SIGINT"), or null.
  const char *received() const;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_SIGNALS_H
