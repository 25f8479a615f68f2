//===- Statistics.h - Running mean and variance -----------------*- C++ -*-===//
//
// Internal to compiler/Import and compiler/Export. Knows no MLIR.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_INITIALIZERS_STATISTICS_H
#define MPC_COMPILER_IMPORT_INITIALIZERS_STATISTICS_H

#include "onnx/onnx_pb.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <string>

namespace mpc {

/// Inputs 3 (mean) and 4 (variance) of BatchNormalization nodes, and the state
/// each becomes. Training writes them, so each needs a state of its own; but
/// exporters merge initializers of equal contents, and at the start all means
/// are zeros. An initializer with other uses is therefore split: its name stays
/// with those, the statistic is called `<node>.running_mean` or `_var`. Nodes
/// with the same scale, bias and statistics are one module that the model calls
/// several times: they share the state. TorchScript's exporter gives merged
/// initializers names of their own, by Identity nodes; with PyTorch's signature
/// such names stand for what the call before has left of the statistic.
class Statistics {
public:
  Statistics(const onnx::GraphProto &graph, bool hasSignature);

  struct State {
    std::string name;        ///< Name of the state.
    std::string initializer; ///< Where its value comes from.
  };

  /// The state of input `input` of node `node` (an index); null if that is no
  /// statistic, or does not come from an initializer.
  const State *find(int node, int input) const;

  /// All of them, by node and input.
  const std::map<std::pair<int, int>, State> &all() const { return states; }

private:
  std::map<std::pair<int, int>, State> states;
};

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_INITIALIZERS_STATISTICS_H
