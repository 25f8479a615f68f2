//===- TrainingStep.h - What a file says of training ------------*- C++ -*-===//
//
// Internal to compiler/Import. One form for what models bring: graphs whose
// nodes run one after the other, and which value each state has thereafter.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_TRAININGSTEP_H
#define MPC_COMPILER_IMPORT_TRAININGSTEP_H

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

  /// One of the updates that make up a step. Each sees what those before it
  /// have made of the states.
  struct Update {
    /// The first is that of inference; it reads nothing of the others.
    std::vector<const onnx::GraphProto *> graphs;
    std::vector<Binding> bindings;
    /// What is differentiated with respect to states; "" if no node says so.
    std::string loss;
  };

  std::vector<Update> updates;
  /// All states, and the update that each belongs to.
  llvm::StringMap<unsigned> states;
};

/// Reads `training_info`, of which there is some. Functions must have been
/// inlined. Fails after a diagnostic where a binding is about no initializer or
/// no value, two are about one state, or an update changes nothing.
mlir::FailureOr<TrainingStep> readTrainingInfo(const onnx::ModelProto &model,
                                               mlir::MLIRContext *context);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_TRAININGSTEP_H
