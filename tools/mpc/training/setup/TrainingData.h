//===- TrainingData.h - The data of a training run --------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_SETUP_TRAININGDATA_H
#define MPC_TOOLS_MPC_TRAINING_SETUP_TRAININGDATA_H

#include "tools/mpc/data/Dataset.h"
#include "tools/mpc/metrics/MetricSet.h"
#include "tools/mpc/training/setup/TrainOptions.h"

#include <memory>

namespace mpc::tool {

/// Reads the data to train on. If it fits another loss, the error says how to
/// compile.
std::unique_ptr<Dataset> openTrainingData(const Program &program,
                                          const DataOptions &from);

/// The metrics of evaluations of the data `from`; null if there are none.
std::unique_ptr<MetricSet> makeMetrics(const TrainOptions &options,
                                       const Program &program,
                                       const DataOptions &from);

/// The data that the options want to evaluate on, `from` or a part of `data`,
/// which is removed there; null if there is none.
std::unique_ptr<Dataset> openEvaluationData(const TrainOptions &options,
                                            const MetricSet *metrics,
                                            DataOptions from, Dataset &data);

/// Sets the batch sizes: of training to what the options say, and of evaluation
/// to the best one for the data. `evalData` and `metrics` may both be null.
void chooseBatchSizes(const TrainOptions &options, const Program &program,
                      Dataset &data, Dataset *evalData, MetricSet *metrics);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_SETUP_TRAININGDATA_H
