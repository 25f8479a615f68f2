//===- DatasetObject.h - mpc_dataset_t --------------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_LIBRARY_DATASETOBJECT_H
#define MPC_TOOLS_MPC_LIBRARY_DATASETOBJECT_H

#include "tools/mpc/library/Api.h"
#include "tools/mpc/training/setup/TrainingData.h"

#include <memory>

struct mpc_dataset_s {
  const mpc_program_t *program = nullptr;
  mpc::tool::MessageHandler messages;
  mpc::tool::DataOptions from;
  /// The inputs of the entry point; the dataset may have more, for metrics.
  size_t numInputs = 0;
  std::unique_ptr<mpc::tool::Dataset> data;
};

#endif // MPC_TOOLS_MPC_LIBRARY_DATASETOBJECT_H
