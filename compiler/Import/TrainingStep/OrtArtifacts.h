//===- OrtArtifacts.h - ONNX Runtime training artifacts ---------*- C++ -*-===//
//
// Internal to compiler/Import. A folder that generate_artifacts() of
// onnxruntime-training writes: training_model.onnx, eval_model.onnx, checkpoint
// and optionally optimizer_model.onnx, all with one prefix. Version 1.19.2 was
// the last to write them.
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
  /// A single model: its graph has the parameters and no nodes; the algorithms
  /// of its training_info are the training graph and the evaluation graph.
  std::shared_ptr<ModelFile> model;
  OrtCheckpoint checkpoint;
  OptimizerChoice optimizer;
  /// Pairs of a state and its new value, and of a parameter and its gradient.
  std::vector<TrainingStep::Binding> bindings, gradients;
  std::string loss, seed, prediction;
};

/// Reads and joins the files in `folder`; fails with a ModelFileError.
llvm::Expected<OrtArtifacts> readOrtArtifacts(llvm::StringRef folder);

/// The evaluation model with the parameters of the checkpoint, without the
/// nodes that only the loss needs.
onnx::ModelProto makeInferenceModel(const OrtArtifacts &artifacts);

/// The step that the artifacts describe; its graphs are those of
/// `artifacts.model`.
TrainingStep makeStep(const OrtArtifacts &artifacts);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_TRAININGSTEP_ORTARTIFACTS_H
