// A one-node model for every op.

#include "small_models.h"

#include "nodes.h"

#include "gtest/gtest.h"

using namespace mpc;

static onnx::ModelProto parse(const std::string &inputs,
                              const std::string &nodes, int opset = 28,
                              const std::string &values = "") {
  std::string text =
      "<ir_version: 12, opset_import: [\"\" : " + std::to_string(opset) +
      ", \"ai.onnx.preview.training\" : 1, \"com.microsoft\" : 1, \"mpc\" : "
      "1]>\ng (" +
      inputs + ") => (y) " + values + " { " + nodes + " }";
  auto model = parseModelFile(llvm::MemoryBufferRef(text, "model.onnxtxt"));
  if (model)
    return (*model)->proto;
  ADD_FAILURE() << text << ": " << llvm::toString(model.takeError());
  return {};
}

std::vector<onnx::ModelProto> mpc::smallModels() {
  std::vector<onnx::ModelProto> models;
  auto add = [&](const char *ops, const char *inputs, const char *arguments) {
    llvm::SmallVector<llvm::StringRef> names;
    llvm::StringRef(ops).split(names, ' ');
    for (llvm::StringRef op : names)
      models.push_back(parse(inputs, "y = " + op.str() + arguments));
  };
  add(kUnaryOps, "float[1, 1, 3] x", " (x)");
  add(kBinaryOps, "float[3, 3] x, float[3] z", " (x, z)");
  add(kLogicalOps, "bool[3, 3] x, bool[3] z", " (x, z)");
  for (const SmallGraph &graph : kSmallGraphs)
    models.push_back(
        parse(graph.inputs, graph.nodes, graph.opset, graph.values));
  return models;
}
