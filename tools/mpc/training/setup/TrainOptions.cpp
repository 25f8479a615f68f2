//===- TrainOptions.cpp - The options of training -------------------------===//

#include "tools/mpc/training/setup/TrainOptions.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/data/augment/Augmentation.h"
#include "tools/mpc/data/sources/OpenData.h"
#include "tools/mpc/metrics/MetricSet.h"
#include "tools/mpc/options/Checks.h"
#include "tools/mpc/training/Evaluate.h"

#include <algorithm>

using namespace mpc::tool;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

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

void TrainOptions::addTo(CLI::App &command) {
  data.addTo(command, "Data with an array for each model input, and labels or "
                      "targets: a " +
                          std::string(kDataFormats));
  command
      .add_option("--augment", data.augment,
                  "Change training samples at random: images by flip, vflip, "
                  "crop[=SCALE], pad=N, rotate=DEGREES, color=X, cutout=N; "
                  "batches by mixup[=ALPHA]; windows of a text by shift")
      ->option_text("LIST")
      ->check(NotEmpty());
  batch.addTo(command);
  command
      .add_option("--eval-data", evalData,
                  "Data to evaluate on after each epoch")
      ->option_text("PATH");
  command
      .add_option("--eval-split", evalSplit,
                  "Evaluate on this fraction of the data (0.1) instead, which "
                  "is not trained on")
      ->option_text("FRACTION")
      ->check(HalfOpenUnit())
      ->excludes("--eval-data");
  command
      .add_option("--eval-every", evalEvery,
                  "Steps between evaluations (default: after each epoch)")
      ->option_text("N")
      ->check(Whole(1));
  addMetricsTo(command, metrics);
  command
      .add_option("--patience", patience,
                  "Stop after so many evaluations in a row that are no better "
                  "than the best one (--keep-best; default: by loss)")
      ->option_text("N")
      ->check(Whole(1));
  CLI::Option *epochsOption =
      command
          .add_option("--epochs", epochs, "Total number of epochs (default: 1)")
          ->option_text("N")
          ->check(Whole(1));
  command.add_option("--steps", steps, "Total number of steps")
      ->option_text("N")
      ->check(Whole(1))
      ->excludes(epochsOption);
  command
      .add_option(
          "--lr", learningRate,
          "Learning rate (replaces the compiled one; schedules start from it)")
      ->option_text("RATE")
      ->check(AtLeast(0));
  command
      .add_option("--total-steps", totalSteps,
                  "Length of the learning rate schedule in updates (default: "
                  "as compiled, else the length of this run)")
      ->option_text("N")
      ->check(Whole(1));
  command
      .add_option("--loss-scale-init", lossScale,
                  "Initial dynamic loss scale (fp16)")
      ->option_text("SCALE")
      ->check(Above(0));
  command
      .add_option("--seed", seed,
                  "Seed for shuffling, augmentation, dropout and --reinit "
                  "(default: 0)")
      ->option_text("N")
      ->check(Whole(0));
  command.add_flag("--no-shuffle", noShuffle, "Keep samples in file order");
  command
      .add_option("--sampling", sampling,
                  "How often samples are taken: each once in an epoch "
                  "(uniform, default), or each class equally often (balanced)")
      ->option_text("HOW")
      ->check(Choice({"uniform", "balanced"}));
  command
      .add_option("--last-batch", lastBatch,
                  "What to do with samples that do not fill a batch at the "
                  "end of an epoch: drop (default), or train")
      ->option_text("HOW")
      ->check(Choice({"drop", "train"}));
  command
      .add_option("--on-nan", onNanText,
                  "What to do if a step produces inf or nan: abort (default), "
                  "skip, or rollback to the last checkpoint")
      ->option_text("HOW")
      ->check(Choice({"abort", "skip", "rollback"}));
  command
      .add_option("--shard", shard,
                  "What processes of a run under mpirun share, so that each "
                  "needs less memory: nothing (none, default), the "
                  "optimizer's states and its work (optimizer), or also "
                  "gradients (gradients)")
      ->option_text("WHAT")
      ->check(Choice({"none", "optimizer", "gradients"}));
  command
      .add_option("--grad-comm", gradComm,
                  "How these processes exchange gradients: exactly (fp32, "
                  "default), or rounded in half the bytes, with what that "
                  "loses added to the next update (bf16)")
      ->option_text("TYPE")
      ->check(Choice({"fp32", "bf16"}));
  init.addTo(command);
  drawn.addTo(command);
  session.addTo(command);
  addCheckpointOptions(&command, *this);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

void TrainOptions::finish() {
  resume = !resumeMode.empty();
  force = resumeMode == "force";
  if (onNanText == "skip")
    onNan = OnNan::Skip;
  if (onNanText == "rollback")
    onNan = OnNan::Rollback;
  if (keep && checkpointDir.empty())
    throw Failure(Usage, "--checkpoint-keep requires --checkpoint-dir");
  if (resume && checkpointDir.empty())
    throw Failure(Usage, "--resume requires --checkpoint-dir");
  if (checkpointEvery != 0 && checkpointDir.empty())
    throw Failure(Usage, "--checkpoint-every requires --checkpoint-dir");
  if (onNan == OnNan::Rollback && checkpointDir.empty())
    throw Failure(Usage, "--on-nan=rollback requires --checkpoint-dir");

  if (!keepBest.empty() && checkpointDir.empty())
    throw Failure(Usage, "--keep-best requires --checkpoint-dir");
  for (auto [isGiven, name] : {std::pair(evalEvery != 0, "--eval-every"),
                               std::pair(!metrics.empty(), "--metrics"),
                               std::pair(patience != 0, "--patience"),
                               std::pair(!keepBest.empty(), "--keep-best")})
    if (isGiven && !hasEvaluation())
      throw Failure(Usage, std::string(name) +
                               " requires --eval-data or --eval-split");

  if (sampling == "balanced" && noShuffle)
    throw Failure(Usage, "--sampling=balanced takes samples in a random order, "
                         "so it cannot be combined with --no-shuffle");
  if (parseAugmentation(data.augment).shift && evalSplit > 0)
    throw Failure(Usage, "--augment=shift would train on tokens that "
                         "--eval-split holds out; use --eval-data");
  init.checkUsage();
  if (isCheckpoint(checkpointDir))
    throw Failure(Usage,
                  "--checkpoint-dir='" + checkpointDir +
                      "' is a checkpoint; use the folder that contains it");
}

void TrainOptions::finishRanks() {
  for (auto [name, isGiven] : {std::pair("--shard", shard != "none"),
                               std::pair("--grad-comm", gradComm != "fp32")})
    if (isGiven && !ranks)
      note(std::string(name) + " has no effect: this is the only process");
  if (!ranks)
    return;
  session.shard = parseShard(shard);
  session.roundsGradients = gradComm == "bf16";
}

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

void TrainOptions::checkProgram(const Program &program) const {
  if (program.option("optimizer") == "none")
    throw Failure(Usage, program.path +
                             ": the program was compiled with "
                             "--optimizer=none: its steps return gradients and "
                             "change no weight");
  if (lossScale)
    requireDynamicScale(program);
  if (hasEvaluation())
    requireEvaluate(program);
  batch.checkProgram(program);
}
