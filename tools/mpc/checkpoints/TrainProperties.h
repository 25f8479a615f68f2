//===- TrainProperties.h - Properties in checkpoints ------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_CHECKPOINTS_TRAINPROPERTIES_H
#define MPC_TOOLS_MPC_CHECKPOINTS_TRAINPROPERTIES_H

namespace mpc::tool {

// Names of session properties that the training loop needs to continue.
constexpr const char *kEpoch = "train.epoch";
constexpr const char *kBatch = "train.batch";
constexpr const char *kBatchSize = "train.batch_size";
constexpr const char *kStep = "train.step";
constexpr const char *kSeed = "train.seed";
constexpr const char *kSamples = "train.samples";
constexpr const char *kShuffle = "train.shuffle";

/// The name of the order of samples: SampleOrder::name(). Absent if it is "".
constexpr const char *kOrder = "train.order";
/// "train" if the last batch of an epoch is filled up. Absent if it is left out.
constexpr const char *kLastBatch = "train.last-batch";
/// How samples are augmented: Augmentation::describe(). Absent if they have
/// never been.
constexpr const char *kAugment = "train.augment";

/// Losses of the epoch so far: EpochLoss::toText().
constexpr const char *kLoss = "train.loss";

/// The best evaluation before the checkpoint: BestCheckpoint::toText().
constexpr const char *kBestSoFar = "train.best";

/// The training data: Dataset::fingerprint().
constexpr const char *kData = "train.data";
/// The classes of the data: Dataset::classes() as JSON.
constexpr const char *kClasses = "train.classes";

/// The state that holds the length of the learning rate schedule.
constexpr const char *kTotalSteps = "total_steps";

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_CHECKPOINTS_TRAINPROPERTIES_H
