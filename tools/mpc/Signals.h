//===- Signals.h - Stopping at the end of a step ----------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_SIGNALS_H
#define MPC_TOOLS_MPC_SIGNALS_H

namespace mpc::tool {

/// While one exists, SIGINT and SIGTERM only leave a mark, and SIGINT a note on
/// stderr. A second signal of the same kind ends the process at once, as usual.
class StopOnSignal {
public:
  StopOnSignal();
  ~StopOnSignal();

  /// The name of the signal that came ("SIGINT"), or null.
  const char *received() const;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_SIGNALS_H
