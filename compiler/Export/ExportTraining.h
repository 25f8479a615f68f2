//===- ExportTraining.h - A training step as training_info ------*- C++ -*-===//
#ifndef MPC_COMPILER_EXPORT_EXPORTTRAINING_H
#define MPC_COMPILER_EXPORT_EXPORTTRAINING_H

#include "compiler/Export/Export.h"

#include "onnx/onnx_pb.h"

namespace mpc {

/// Adds a training_info to a model that describes the step: the loss, a
/// Gradient with respect to all parameters, and the update, with its current
/// states. If training differs from inference (BatchNormalization, Dropout),
/// the algorithm contains the forward pass again, in training form, so that the
/// graph remains the inference graph. Fails with a ModelFileError (Invalid) if
/// the model cannot express this: functions and subgraphs that would have to be
/// duplicated, BatchNormalization before opset 14.
llvm::Error addTrainingInfo(onnx::ModelProto &model,
                            const TrainingDescription &training);

} // namespace mpc

#endif // MPC_COMPILER_EXPORT_EXPORTTRAINING_H
