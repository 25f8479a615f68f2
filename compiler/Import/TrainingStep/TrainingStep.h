//===- TrainingStep.h - The training step of a model ------------*- C++ -*-===//
//
// Internal to compiler/Import. The common form of all own steps of models:
// graphs whose nodes run in order, and the value that each state has
// afterwards.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_TRAININGSTEP_TRAININGSTEP_H
#define MPC_COMPILER_IMPORT_TRAININGSTEP_TRAININGSTEP_H

#include "onnx/onnx_pb.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace mpc {

struct TrainingStep {
  /// Assigns a value of the graphs to a state, which is an initializer.
  struct Binding {
    std::string state, value;
  };

  /// Graphs whose nodes run in order.
  using Graphs = std::vector<const onnx::GraphProto *>;

  /// One of the updates of a step. Each sees the states as the previous updates
  /// left them.
  struct Update {
    Graphs graphs;
    std::vector<Binding> bindings;
    /// Gradients of states, if the model does not define the update.
    std::vector<Binding> gradients;
    /// The loss; "" if the file does not name it.
    std::string loss;
    /// The initializer that the backward pass starts from, if it has one.
    std::string seed;
  };

  /// Values that states start with, if not those of their initializers.
  struct InitialValues {
    const onnx::GraphProto *graph;
    std::vector<Binding> bindings;
  };

  std::vector<Update> updates;
  std::vector<InitialValues> initialValues;
  /// All states, with the update that each belongs to.
  llvm::StringMap<unsigned> states;

  Graphs inference;  ///< Graphs of the prediction.
  Graphs evaluation; ///< Graphs that compute the loss without training.
  /// The output of the prediction; all outputs of the last graph if empty.
  std::string prediction;
};

/// Reads `training_info`, which must not be empty. Functions must have been
/// inlined. Fails after a diagnostic if a binding names a missing initializer
/// or value, two bindings have the same state, or an update changes nothing.
mlir::FailureOr<TrainingStep> readTrainingInfo(const onnx::ModelProto &model,
                                               mlir::MLIRContext *context);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_TRAININGSTEP_TRAININGSTEP_H
