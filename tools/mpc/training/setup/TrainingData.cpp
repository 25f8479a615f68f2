//===- TrainingData.cpp - The data of a training run ----------------------===//

#include "tools/mpc/training/setup/TrainingData.h"
#include "tools/mpc/data/LossFromData.h"
#include "tools/mpc/training/Evaluate.h"

using namespace mpc::tool;

std::unique_ptr<Dataset> mpc::tool::openTrainingData(const Program &program,
                                                     const DataOptions &from) {
  try {
    return std::make_unique<Dataset>(from, program.inputs(program.stepEntry()));
  } catch (const Failure &failure) {
    if (failure.exitCode != Usage)
      throw;
    throw Failure(Usage, withAdvice(failure.what(), adviseLoss(program, from)));
  }
}

std::unique_ptr<MetricSet> mpc::tool::makeMetrics(const TrainOptions &options,
                                                  const Program &program,
                                                  const DataOptions &from) {
  if (!options.hasEvaluation())
    return nullptr;
  auto metrics = std::make_unique<MetricSet>(options.metrics, options.keepBest,
                                             program, from);
  if (std::string array = metrics->extraArray();
      options.evalSplit > 0 && !array.empty())
    throw Failure(Usage, "--metrics: '" + array +
                             "' is not an input of the loss, so it cannot be "
                             "held out with --eval-split; use --eval-data");
  return metrics;
}

std::unique_ptr<Dataset>
mpc::tool::openEvaluationData(const TrainOptions &options,
                              const MetricSet *metrics, DataOptions from,
                              Dataset &data) {
  std::unique_ptr<Dataset> evalData;
  if (!options.evalData.empty()) {
    from.classes = data.classes();
    evalData = std::make_unique<Dataset>(from, metrics->inputs());
  } else if (options.evalSplit > 0) {
    evalData = data.holdOut(options.evalSplit, metrics->inputs());
  }
  if (evalData)
    metrics->checkData(*evalData);
  return evalData;
}

void mpc::tool::chooseBatchSizes(const TrainOptions &options,
                                 const Program &program, Dataset &data,
                                 Dataset *evalData, MetricSet *metrics) {
  if (options.batch.size)
    data.setBatchSize(*options.batch.size);
  if (evalData)
    useBatchSize(program.batchSizeFor("evaluate", evalData->numSamples()),
                 program, *evalData, *metrics);
}
