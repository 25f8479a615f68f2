//===- TrainObserver.h - Who watches a training run -------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_TRAINOBSERVER_H
#define MPC_TOOLS_MPC_TRAINING_TRAINOBSERVER_H

#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/training/Evaluate.h"
#include "tools/mpc/training/Progress.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>

namespace mpc::tool {

/// Receives what a Trainer does, and may stop it. The trainer itself prints
/// nothing; its notes and warnings are those of Print.h.
class TrainObserver {
public:
  virtual ~TrainObserver() = default;

  /// The session exists; reading checkpoints and weights follows.
  virtual void begin() {}

  /// The run goes from the step after `before` to the step `last`.
  virtual void plan(uint64_t /*before*/, uint64_t /*last*/) {}

  /// Whether reach() must be called after this step, with no step queued.
  virtual bool isBoundary(uint64_t /*step*/) const { return false; }

  /// Before the first step, and after some of the others, with no step queued.
  virtual void reach(Session &, uint64_t /*step*/) {}

  /// The result of a step.
  virtual void stepped(const mpc_step_info_t &, double /*loss*/) {}

  /// The same as numbers by name, if wantsRows().
  virtual bool wantsRows() const { return false; }
  virtual void stepRow(const nlohmann::ordered_json &) {}

  /// Around an evaluation; its numbers.
  virtual void beginEvaluation(Session &) {}
  virtual void endEvaluation(Session &) {}
  virtual void evaluated(const Evaluation &,
                         const nlohmann::ordered_json & /*row*/) {}

  /// A checkpoint "step-<number>" has been saved.
  virtual void saved() {}

  /// Called often.
  virtual void update(const ProgressState &) {}

  /// An epoch or an evaluation has ended.
  virtual void printLine(const ProgressState &) {}

  /// What asks the trainer to stop after the current step, such as "SIGINT";
  /// null: nothing.
  virtual const char *stopReason() const { return nullptr; }
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_TRAINOBSERVER_H
