//===- Train.cpp - mpc train ----------------------------------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/training/Trainer.h"
#include "tools/mpc/training/console/TrainConsole.h"
#include "tools/mpc/training/setup/TrainingData.h"

#include <CLI/CLI.hpp>

#include <memory>

using namespace mpc::tool;

namespace {
struct TrainCommand {
  TrainOptions training;
  ConsoleOptions console;
};
} // namespace

static int runTrain(TrainCommand &command) {
  TrainOptions &options = command.training;
  options.finish();
  Program program(options.package);
  (void)program.stepEntry(); // Throws if the program cannot be trained.
  options.checkProgram(program);
  const DataOptions evaluated = options.evalData.empty()
                                    ? options.data
                                    : options.data.with(options.evalData);
  std::unique_ptr<MetricSet> metrics = makeMetrics(options, program, evaluated);
  std::unique_ptr<Dataset> data = openTrainingData(program, options.data);
  std::unique_ptr<Dataset> evalData =
      openEvaluationData(options, metrics.get(), evaluated, *data);
  chooseBatchSizes(options, program, *data, evalData.get(), metrics.get());
  TrainConsole console(command.console, options, program);
  Trainer trainer(options, program, *data, evalData.get(), console,
                  metrics.get());
  bool isDone = trainer.run();
  return console.finish(trainer, isDone);
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
  return [options] { return runTrain(*options); };
}
