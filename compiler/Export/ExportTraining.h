//===- ExportTraining.h - A model that says how it is trained ---*- C++ -*-===//
#ifndef MPC_COMPILER_EXPORT_EXPORTTRAINING_H
#define MPC_COMPILER_EXPORT_EXPORTTRAINING_H

#include "compiler/Export/Export.h"

#include "onnx/onnx_pb.h"

namespace mpc {

/// Gives a model a training_info that describes the step: the loss, a Gradient
/// with respect to all parameters, and the update, with what it has come to.
/// Where training differs from inference (BatchNormalization, Dropout) the
/// algorithm has the forward pass once more, in training form, so that the
/// graph stays what inference runs. Fails with a ModelFileError (Invalid) where
/// the model has no such thing: functions and subgraphs that would have to be
/// there twice, BatchNormalization before opset 14.
llvm::Error addTrainingInfo(onnx::ModelProto &model,
                            const TrainingDescription &training);

} // namespace mpc

#endif // MPC_COMPILER_EXPORT_EXPORTTRAINING_H
