//===- Train.cpp - mpc train ----------------------------------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/options/Checks.h"
#include "tools/mpc/training/Trainer.h"
#include "tools/mpc/training/console/TrainConsole.h"
#include "tools/mpc/training/ranks/RankGroup.h"
#include "tools/mpc/training/ranks/RankObserver.h"
#include "tools/mpc/training/setup/TrainingData.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

using namespace mpc::tool;

namespace {
struct TrainCommand {
  TrainOptions training;
  ConsoleOptions console;
  uint32_t rankTimeout = 60; ///< In seconds.
};
} // namespace

static int runTrain(TrainCommand &command) {
  TrainOptions &options = command.training;
  Program program(options.package);
  (void)program.stepEntry(); // Throws if the program cannot be trained.
  if (options.ranks && program.option("data-parallel").empty())
    throw SharedFailure(
        Usage, format("'%s' was compiled for one process, but %u were "
                      "launched; compile the model with --data-parallel",
                      options.package.c_str(), options.ranks->size()));
  options.checkProgram(program);
  const DataOptions evaluated = options.evalData.empty()
                                    ? options.data
                                    : options.data.with(options.evalData);
  std::unique_ptr<MetricSet> metrics = makeMetrics(options, program, evaluated);
  std::unique_ptr<Dataset> data = openTrainingData(program, options.data);
  std::unique_ptr<Dataset> evalData =
      openEvaluationData(options, metrics.get(), evaluated, *data);
  chooseBatchSizes(options, program, *data, evalData.get(), metrics.get());
  if (options.ranks && !options.ranks->isFirst()) {
    RankObserver observer(options.ranks->rank());
    Trainer trainer(options, program, *data, evalData.get(), observer,
                    metrics.get());
    return trainer.run() ? Ok : Stopped;
  }
  TrainConsole console(command.console, options, program);
  Trainer trainer(options, program, *data, evalData.get(), console,
                  metrics.get());
  bool isDone = trainer.run();
  return console.finish(trainer, isDone);
}

/// The same as one of several ranks, if a launcher has started them. A rank
/// that fails ends the others, which would wait for it.
static int runRank(const std::string &name, TrainCommand &command) {
  TrainOptions &options = command.training;
  options.finish();
  std::unique_ptr<RankGroup> ranks = RankGroup::join(command.rankTimeout);
  options.ranks = ranks.get();
  options.finishRanks();
  if (!ranks)
    return runTrain(command);
  if (options.session.threads == 0)
    options.session.threads = RankGroup::shareOfCpus();
  try {
    return runTrain(command);
  } catch (const SharedFailure &failure) {
    if (ranks->isFirst())
      throw;
    throw AlreadyReported(failure.exitCode);
  } catch (const Failure &failure) {
    printMessage(name, "error",
                 "rank " + std::to_string(ranks->rank()) + ": " +
                     failure.what());
    std::fflush(nullptr);
    ranks->abort(failure.what());
    throw AlreadyReported(failure.exitCode);
  }
}

Action mpc::tool::addTrain(CLI::App &app, OpenWeights *openOnnx) {
  auto options = std::make_shared<TrainCommand>();
  TrainOptions &training = options->training;
  ConsoleOptions &console = options->console;
  CLI::App *train = app.add_subcommand("train", "Train a compiled model");
  train->add_option("package", training.package, "Compiled model (.mpc)")
      ->option_text("MODEL.mpc")
      ->required();
  training.init.openOnnx = openOnnx;
  training.addTo(*train);
  train->get_option("--data")->required();
  console.profile.addTo(*train);
  training.session.addCodeDirTo(*train);
  train
      ->add_flag("--json", console.json,
                 "Print one JSON object per step and evaluation")
      ->group("Output");
  training.log.addTo(*train);
  train->add_flag("--quiet,-q", console.quiet, "Do not print progress")
      ->group("Output");
  train
      ->add_option("--rank-timeout", options->rankTimeout,
                   "Seconds to wait for another process of a run under mpirun "
                   "(default: 60)")
      ->option_text("SECONDS")
      ->check(Whole(1));
  return [options] { return runRank("mpc train", *options); };
}
