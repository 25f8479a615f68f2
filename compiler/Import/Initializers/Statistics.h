//===- Statistics.h - Running mean and variance -----------------*- C++ -*-===//
//
// Internal to compiler/Import and compiler/Export. Does not use MLIR.
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
/// that each becomes. Training writes them, so each needs a state of its own.
/// But exporters merge initializers with equal contents, and initially all
/// means are zeros. An initializer with other uses is therefore split: the
/// other uses keep its name, and the statistic is called `<node>.running_mean`
/// or `_var`. Nodes with the same scale, bias and statistics are one module
/// that the model calls several times: they share the state. TorchScript's
/// exporter gives merged initializers separate names through Identity nodes;
/// with PyTorch's signature such names stand for the statistic as the previous
/// call left it.
class Statistics {
public:
  Statistics(const onnx::GraphProto &graph, bool hasSignature);

  struct State {
    std::string name;        ///< Name of the state.
    std::string initializer; ///< The source of its value.
  };

  /// The state of input `input` of node `node` (an index); null if that is not
  /// a statistic, or does not come from an initializer.
  const State *find(int node, int input) const;

  /// All states, by node and input.
  const std::map<std::pair<int, int>, State> &all() const { return states; }

private:
  std::map<std::pair<int, int>, State> states;
};

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_INITIALIZERS_STATISTICS_H
