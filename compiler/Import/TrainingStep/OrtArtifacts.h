//===- OrtArtifacts.h - Training artifacts of ONNX Runtime ------*- C++ -*-===//
//
// Internal to compiler/Import. What generate_artifacts() of
// onnxruntime-training writes into a folder: training_model.onnx,
// eval_model.onnx, checkpoint and perhaps optimizer_model.onnx, all with one
// prefix. Nothing has written such since its version 1.19.2.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_TRAININGSTEP_ORTARTIFACTS_H
#define MPC_COMPILER_IMPORT_TRAININGSTEP_ORTARTIFACTS_H

#include "compiler/Import/File/ModelFile.h"
#include "compiler/Import/Import.h"
#include "compiler/Import/TrainingStep/OrtCheckpoint.h"
#include "compiler/Import/TrainingStep/TrainingStep.h"

namespace mpc {

struct OrtArtifacts {
  /// One model: its graph has the parameters and no node, the algorithms of its
  /// training_info are the training graph and the one for evaluation.
  std::shared_ptr<ModelFile> model;
  OrtCheckpoint checkpoint;
  OptimizerChoice optimizer;
  /// Pairs of a state and what becomes of it, and of a parameter and its
  /// gradient.
  std::vector<TrainingStep::Binding> bindings, gradients;
  std::string loss, seed, prediction;
};

/// Reads and joins what lies in `folder`; fails with a ModelFileError.
llvm::Expected<OrtArtifacts> readOrtArtifacts(llvm::StringRef folder);

/// The model for evaluation with the parameters of the checkpoint, and without
/// what only the loss needs.
onnx::ModelProto makeInferenceModel(const OrtArtifacts &artifacts);

/// The step that they describe; graphs are those of `artifacts.model`.
TrainingStep makeStep(const OrtArtifacts &artifacts);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_TRAININGSTEP_ORTARTIFACTS_H
