//===- TrainingStep.h - What a file says of training ------------*- C++ -*-===//
//
// Internal to compiler/Import. One form for what models bring: graphs whose
// nodes run one after the other, and which value each state has thereafter.
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
  /// A state, which is an initializer, gets a value of the graphs.
  struct Binding {
    std::string state, value;
  };

  /// Graphs whose nodes run one after the other.
  using Graphs = std::vector<const onnx::GraphProto *>;

  /// One of the updates that make up a step. Each sees what those before it
  /// have made of the states.
  struct Update {
    Graphs graphs;
    std::vector<Binding> bindings;
    /// Gradients of states, for an update that is not the model's own.
    std::vector<Binding> gradients;
    /// What it minimizes; "" if the file does not say.
    std::string loss;
    /// The initializer that the backward pass starts from, if it has one.
    std::string seed;
  };

  /// Which values states begin with, if not those of their initializers.
  struct Beginning {
    const onnx::GraphProto *graph;
    std::vector<Binding> bindings;
  };

  std::vector<Update> updates;
  std::vector<Beginning> beginnings;
  /// All states, and the update that each belongs to.
  llvm::StringMap<unsigned> states;

  Graphs inference;  ///< That predict.
  Graphs evaluation; ///< That lead to the loss, and train nothing.
  /// What prediction gives; all outputs of the last graph if empty.
  std::string prediction;
};

/// Reads `training_info`, which must not be empty. Functions must have been
/// inlined. Fails after a diagnostic where a binding names no initializer or
/// no value, two are about one state, or an update changes nothing.
mlir::FailureOr<TrainingStep> readTrainingInfo(const onnx::ModelProto &model,
                                               mlir::MLIRContext *context);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_TRAININGSTEP_TRAININGSTEP_H
