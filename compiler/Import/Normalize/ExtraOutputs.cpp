//===- ExtraOutputs.cpp - Values of the graph as further outputs ----------===//

#include "compiler/Import/Normalize/NormalizeModel.h"

#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/UserInput/Nearest.h"

using namespace mlir;
using namespace mpc;

LogicalResult mpc::addOutputs(onnx::GraphProto &graph,
                              ArrayRef<std::string> names,
                              MLIRContext *context) {
  SmallVector<StringRef> computed;
  for (const onnx::NodeProto &node : graph.node())
    computed.append(node.output().begin(), node.output().end());
  llvm::StringSet<> outputs;
  for (const onnx::ValueInfoProto &output : graph.output())
    outputs.insert(output.name());
  for (const std::string &name : names) {
    if (name.empty() || !llvm::is_contained(computed, name))
      return emitUsageError(UnknownLoc::get(context))
             << "option 'extra-outputs'='" << name
             << "' is no value that a node computes"
             << describeNearest(name, computed);
    if (outputs.insert(name).second)
      graph.add_output()->set_name(name);
  }
  return success();
}
