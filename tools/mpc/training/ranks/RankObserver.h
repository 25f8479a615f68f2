//===- RankObserver.h - Who watches training on other ranks -----*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_RANKS_RANKOBSERVER_H
#define MPC_TOOLS_MPC_TRAINING_RANKS_RANKOBSERVER_H

#include "tools/mpc/base/Print.h"
#include "tools/mpc/training/TrainObserver.h"
#include "tools/mpc/training/console/Signals.h"

#include <optional>
#include <string>

namespace mpc::tool {

/// On ranks other than the first: prints only warnings, because the first rank
/// prints the rest, and stops training when a signal arrives.
class RankObserver : public TrainObserver, private MessageSink {
public:
  explicit RankObserver(uint32_t rank) : rank(rank), messages(*this) {}

  void begin() override { signals.emplace(); }
  const char *stopReason() const override {
    return signals ? signals->received() : nullptr;
  }

private:
  void receive(const char *kind, const std::string &text) override;

  const uint32_t rank;
  MessagesTo messages;
  std::optional<StopOnSignal> signals;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_RANKS_RANKOBSERVER_H
