//===- ModelGraphs.h - All graphs of a model --------------------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_FILE_MODELGRAPHS_H
#define MPC_COMPILER_IMPORT_FILE_MODELGRAPHS_H

#include "onnx/onnx_pb.h"
#include "llvm/ADT/SmallVector.h"

namespace mpc {

/// The inference graph and the graphs of training steps, without subgraphs.
inline llvm::SmallVector<const onnx::GraphProto *>
graphsOf(const onnx::ModelProto &model) {
  llvm::SmallVector<const onnx::GraphProto *> graphs = {&model.graph()};
  for (const onnx::TrainingInfoProto &info : model.training_info())
    graphs.append({&info.initialization(), &info.algorithm()});
  return graphs;
}

/// The same graphs, mutable.
inline llvm::SmallVector<onnx::GraphProto *>
mutableGraphsOf(onnx::ModelProto &model) {
  llvm::SmallVector<onnx::GraphProto *> graphs = {model.mutable_graph()};
  for (onnx::TrainingInfoProto &info : *model.mutable_training_info())
    graphs.append({info.mutable_initialization(), info.mutable_algorithm()});
  return graphs;
}

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_FILE_MODELGRAPHS_H
