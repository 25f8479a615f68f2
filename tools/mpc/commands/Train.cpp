//===- Train.cpp - mpc train ----------------------------------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/data/LossFromData.h"
#include "tools/mpc/data/sources/OpenData.h"
#include "tools/mpc/options/Checks.h"
#include "tools/mpc/training/Trainer.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>

using namespace mpc::tool;

/// Throws unless the loss scale is dynamic; any other scale is fixed when the
/// program is compiled.
static void requireDynamicScale(const Program &program) {
  if (program.option("precision") != "fp16")
    throw Failure(Usage, "--loss-scale-init requires a package compiled with "
                         "--precision=fp16; this one is " +
                             program.option("precision"));
  std::string scale = program.option("loss-scale");
  if (!scale.empty() && scale != "dynamic")
    throw Failure(Usage, "--loss-scale-init requires a dynamic loss scale; "
                         "this package was compiled with --loss-scale=" +
                             scale);
}

/// Reads the data. If it fits another loss, the error says how to compile.
static std::unique_ptr<Dataset>
readData(const Program &program, const char *entry, const DataOptions &from) {
  try {
    return std::make_unique<Dataset>(from, program.inputs(entry));
  } catch (const Failure &failure) {
    if (failure.exitCode != Usage)
      throw;
    throw Failure(Usage, withAdvice(failure.what(), adviseLoss(program, from)));
  }
}

/// Throws unless the program can be trained with batches of this size.
static void requireBatch(const Program &program, const char *entry,
                         uint64_t size) {
  const std::vector<uint64_t> sizes = program.batchSizes(entry);
  if (std::find(sizes.begin(), sizes.end(), size) != sizes.end())
    return;
  std::string known;
  for (uint64_t other : sizes)
    known += std::to_string(other) + ",";
  throw Failure(Usage, "--batch=" + std::to_string(size) + ": " + program.path +
                           (sizes.empty()
                                ? " has no batch dimension"
                                : " was not compiled for this size; compile it "
                                  "with --batch=" +
                                      known + std::to_string(size)));
}

/// The metrics of evaluations; null if there are no evaluations.
static std::unique_ptr<MetricSet> makeMetrics(const TrainOptions &options,
                                              const Program &program) {
  if (!options.hasEvaluation())
    return nullptr;
  bool isSplit = options.evalData.empty();
  auto metrics = std::make_unique<MetricSet>(
      options.metrics, options.keepBest, program,
      isSplit ? options.data : options.data.with(options.evalData));
  if (std::string array = metrics->extraArray(); isSplit && !array.empty())
    throw Failure(Usage, "--metrics: '" + array +
                             "' is not an input of the loss, so it cannot be "
                             "held out with --eval-split; use --eval-data");
  return metrics;
}

static int runTrain(const TrainOptions &options) {
  if (options.resume && options.checkpointDir.empty())
    throw Failure(Usage, "--resume requires --checkpoint-dir");
  if (options.checkpointEvery != 0 && options.checkpointDir.empty())
    throw Failure(Usage, "--checkpoint-every requires --checkpoint-dir");
  if (options.onNan == OnNan::Rollback && options.checkpointDir.empty())
    throw Failure(Usage, "--on-nan=rollback requires --checkpoint-dir");

  if (!options.keepBest.empty() && options.checkpointDir.empty())
    throw Failure(Usage, "--keep-best requires --checkpoint-dir");
  for (auto [isGiven, name] :
       {std::pair(options.evalEvery != 0, "--eval-every"),
        std::pair(!options.metrics.empty(), "--metrics"),
        std::pair(options.patience != 0, "--patience"),
        std::pair(!options.keepBest.empty(), "--keep-best")})
    if (isGiven && !options.hasEvaluation())
      throw Failure(Usage, std::string(name) +
                               " requires --eval-data or --eval-split");

  if (options.sampling == "balanced" && options.noShuffle)
    throw Failure(Usage, "--sampling=balanced takes samples in a random order, "
                         "so it cannot be combined with --no-shuffle");
  if (parseAugmentation(options.data.augment).shift && options.evalSplit > 0)
    throw Failure(Usage, "--augment=shift would train on tokens that "
                         "--eval-split holds out; use --eval-data");
  options.init.checkUsage();
  if (isCheckpoint(options.checkpointDir))
    throw Failure(Usage,
                  "--checkpoint-dir='" + options.checkpointDir +
                      "' is a checkpoint; use the folder that contains it");

  Program program(options.package);
  const char *entry = program.stepEntry();
  if (options.lossScale)
    requireDynamicScale(program);
  if (options.hasEvaluation())
    requireEvaluate(program);
  if (options.batch)
    requireBatch(program, entry, *options.batch);

  std::unique_ptr<MetricSet> metrics = makeMetrics(options, program);
  std::unique_ptr<Dataset> data = readData(program, entry, options.data);
  std::unique_ptr<Dataset> evalData;
  if (!options.evalData.empty()) {
    DataOptions from = options.data.with(options.evalData);
    from.classes = data->classes();
    evalData = std::make_unique<Dataset>(from, metrics->inputs());
  } else if (options.evalSplit > 0) {
    evalData = data->holdOut(options.evalSplit, metrics->inputs());
  }
  if (options.batch)
    data->setBatchSize(*options.batch);
  if (evalData) {
    metrics->checkData(*evalData);
    useBatchSize(program.batchSizeFor("evaluate", evalData->numSamples()),
                 program, *evalData, *metrics);
  }
  // Flush each line, so that readers can follow the log.
  if (options.json)
    std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
  return Trainer(options, program, *data, evalData.get(), metrics.get()).run();
}

static void addCheckpointOptions(CLI::App *train, TrainOptions &options) {
  train
      ->add_option(
          "--checkpoint-dir", options.checkpointDir,
          "Checkpoint folder; one checkpoint is always written at the end")
      ->option_text("DIR")
      ->group("Checkpoints");
  train
      ->add_option("--checkpoint-every", options.checkpointEvery,
                   "Steps between checkpoints (default: after each epoch, at "
                   "most every " +
                       std::to_string(kCheckpointPause) + " s)")
      ->option_text("N")
      ->check(Whole(1))
      ->group("Checkpoints");
  train
      ->add_option("--checkpoint-keep", options.keep,
                   "Number of checkpoints to keep; 0: all (default: 3)")
      ->option_text("N")
      ->check(Whole(0))
      ->group("Checkpoints");
  train
      ->add_option("--keep-best", options.keepBest,
                   "Also keep the checkpoint with the best evaluation, as "
                   "DIR/best: by loss or a metric (see --metrics)")
      ->option_text("METRIC[:min|max]")
      ->group("Checkpoints");
  train
      ->add_flag(
          "--resume{yes}", options.resumeMode,
          "Continue bit-exactly from the newest valid checkpoint (on a "
          "GPU: with --deterministic); options changed in MODEL.mpc take "
          "effect (--resume=force: even another loss or optimizer)")
      ->check(Choice({"yes", "force"}))
      ->group("Checkpoints");
}

Action mpc::tool::addTrain(CLI::App &app, ReadOnnxWeights *readOnnx) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App *train = app.add_subcommand("train", "Train a compiled model");
  train->add_option("package", options->package, "Compiled model (.mpc)")
      ->option_text("MODEL.mpc")
      ->required();
  options->data
      .addTo(*train, "Data with an array for each model input, and labels or "
                     "targets: a " +
                         std::string(kDataFormats))
      ->required();
  train
      ->add_option("--augment", options->data.augment,
                   "Change training samples at random: images by flip, vflip, "
                   "crop[=SCALE], pad=N, rotate=DEGREES, color=X, cutout=N; "
                   "windows of a text by shift")
      ->option_text("LIST")
      ->check(NotEmpty());
  train
      ->add_option("--batch", options->batch,
                   "Samples per batch, if the model was compiled for several "
                   "sizes (default: the first)")
      ->option_text("N")
      ->check(Whole(1));
  train
      ->add_option("--eval-data", options->evalData,
                   "Data to evaluate on after each epoch")
      ->option_text("PATH");
  train
      ->add_option("--eval-split", options->evalSplit,
                   "Evaluate on this fraction of the data (0.1) instead, which "
                   "is not trained on")
      ->option_text("FRACTION")
      ->check(HalfOpenUnit())
      ->excludes("--eval-data");
  train
      ->add_option("--eval-every", options->evalEvery,
                   "Steps between evaluations (default: after each epoch)")
      ->option_text("N")
      ->check(Whole(1));
  addMetricsTo(*train, options->metrics);
  train
      ->add_option("--patience", options->patience,
                   "Stop after so many evaluations in a row that are no better "
                   "than the best one (--keep-best; default: by loss)")
      ->option_text("N")
      ->check(Whole(1));
  CLI::Option *epochs = train
                            ->add_option("--epochs", options->epochs,
                                         "Total number of epochs (default: 1)")
                            ->option_text("N")
                            ->check(Whole(1));
  train->add_option("--steps", options->steps, "Total number of steps")
      ->option_text("N")
      ->check(Whole(1))
      ->excludes(epochs);
  train
      ->add_option(
          "--lr", options->learningRate,
          "Learning rate (replaces the compiled one; schedules start from it)")
      ->option_text("RATE")
      ->check(AtLeast(0));
  train
      ->add_option("--total-steps", options->totalSteps,
                   "Length of the learning rate schedule in updates (default: "
                   "as compiled, else the length of this run)")
      ->option_text("N")
      ->check(Whole(1));
  train
      ->add_option("--loss-scale-init", options->lossScale,
                   "Initial dynamic loss scale (fp16)")
      ->option_text("SCALE")
      ->check(Above(0));
  train
      ->add_option("--seed", options->seed,
                   "Seed for shuffling, augmentation, dropout and --reinit "
                   "(default: 0)")
      ->option_text("N")
      ->check(Whole(0));
  train->add_flag("--no-shuffle", options->noShuffle,
                  "Keep samples in file order");
  train
      ->add_option("--sampling", options->sampling,
                   "How often samples are taken: each once in an epoch "
                   "(uniform, default), or each class equally often (balanced)")
      ->option_text("HOW")
      ->check(Choice({"uniform", "balanced"}));
  train
      ->add_option("--last-batch", options->lastBatch,
                   "What to do with samples that do not fill a batch at the "
                   "end of an epoch: drop (default), or train")
      ->option_text("HOW")
      ->check(Choice({"drop", "train"}));
  train
      ->add_option("--on-nan", options->onNanText,
                   "What to do if a step produces inf or nan: abort (default), "
                   "skip, or rollback to the last checkpoint")
      ->option_text("HOW")
      ->check(Choice({"abort", "skip", "rollback"}));
  options->init.readOnnx = readOnnx;
  options->init.addTo(*train);
  options->drawn.addTo(*train);
  options->session.addTo(*train);
  addCheckpointOptions(train, *options);
  options->profile.addTo(*train);
  options->session.addCodeDirTo(*train);
  train
      ->add_flag("--json", options->json,
                 "Print one JSON object per step and evaluation")
      ->group("Output");
  options->log.addTo(*train);
  train->add_flag("--quiet,-q", options->quiet, "Do not print progress")
      ->group("Output");
  return [options, train] {
    if (train->count("--checkpoint-keep") > 0 && options->checkpointDir.empty())
      throw Failure(Usage, "--checkpoint-keep requires --checkpoint-dir");
    options->resume = !options->resumeMode.empty();
    options->force = options->resumeMode == "force";
    if (options->onNanText == "skip")
      options->onNan = OnNan::Skip;
    if (options->onNanText == "rollback")
      options->onNan = OnNan::Rollback;
    return runTrain(*options);
  };
}
