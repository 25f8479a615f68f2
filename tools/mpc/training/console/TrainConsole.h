//===- TrainConsole.h - What mpc train prints -------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_CONSOLE_TRAINCONSOLE_H
#define MPC_TOOLS_MPC_TRAINING_CONSOLE_TRAINCONSOLE_H

#include "tools/mpc/base/Print.h"
#include "tools/mpc/training/TrainObserver.h"
#include "tools/mpc/training/console/Signals.h"
#include "tools/mpc/training/console/StepProfiler.h"

#include <optional>
#include <vector>

namespace mpc::tool {

class Trainer;
struct TrainOptions;

/// The options of `mpc train` that a library does not have.
struct ConsoleOptions {
  bool json = false, quiet = false;
  ProfileSettings profile;
};

/// Prints progress and messages to stderr and results to stdout, profiles
/// steps, and stops training when a signal arrives.
class TrainConsole : public TrainObserver, private MessageSink {
public:
  /// `training` and `program` must outlive this.
  TrainConsole(ConsoleOptions console, const TrainOptions &training,
               const Program &program);

  /// Prints what follows the last step. Returns the exit code of `mpc train`.
  ExitCode finish(Trainer &trainer, bool isDone);

  void begin() override;
  void plan(uint64_t before, uint64_t last) override;
  bool isBoundary(uint64_t step) const override;
  void reach(Session &session, uint64_t step) override;
  bool wantsRows() const override { return console.json; }
  void stepRow(const nlohmann::ordered_json &row) override;
  void beginEvaluation(Session &session) override;
  void endEvaluation(Session &session) override;
  void evaluated(const Evaluation &evaluation,
                 const nlohmann::ordered_json &row) override;
  void update(const ProgressState &state) override { progress.update(state); }
  void printLine(const ProgressState &state) override {
    progress.printLine(state);
  }
  const char *stopReason() const override;

private:
  void receive(const char *kind, const std::string &text) override;
  void finishProfile(Trainer &trainer);
  ExitCode finishStopped(Trainer &trainer);
  void printDevice(const Session &session) const;

  const ConsoleOptions console;
  const TrainOptions &training;
  const Program &program;
  Progress progress;
  MessagesTo messages;
  std::optional<StopOnSignal> signals;
  std::optional<StepProfiler> profiler;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_CONSOLE_TRAINCONSOLE_H
