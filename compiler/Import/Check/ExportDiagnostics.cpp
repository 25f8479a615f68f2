//===- ExportDiagnostics.cpp - Traces of exporters ------------------------===//

#include "compiler/Import/Check/ExportDiagnostics.h"

#include "compiler/Import/Check/CheckModel.h"
#include "compiler/Import/Graph/Dimensions.h"
#include "compiler/Import/Normalize/ModulePaths.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Endian.h"

using namespace mpc;
using llvm::StringRef;
using Names = std::vector<std::string>;

/// "3 Conv nodes ('a', 'b', 'c')", with only the first names of many.
static std::string describe(StringRef op, const Names &nodes,
                            StringRef things = "node") {
  constexpr size_t kShown = 5;
  std::string text = std::to_string(nodes.size()) + " " + op.str() + " " +
                     things.str() + (nodes.size() == 1 ? " (" : "s (");
  for (size_t i = 0; i < std::min(kShown, nodes.size()); ++i)
    text += (i ? ", '" : "'") + nodes[i] + "'";
  if (nodes.size() > kShown)
    text += " and " + std::to_string(nodes.size() - kShown) + " more";
  return text + ")";
}

static const onnx::AttributeProto *findAttribute(const onnx::NodeProto &node,
                                                 StringRef name) {
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

/// The op of a node that PyTorch's newer exporter wrote, and the class of its
/// module.
static std::pair<std::string, std::string>
opAndClass(const onnx::NodeProto &node) {
  Names classes = parseNames(readNodeMetadata(node, kClassHierarchy));
  if (classes.size() < 2)
    return {};
  return {classes.back(), classes[classes.size() - 2]};
}

/// The module of such a node; the node's name if it is in none.
static std::string moduleOf(const onnx::NodeProto &node) {
  Names scopes = parseNames(readNodeMetadata(node, kNameScopes));
  bool isModule = scopes.size() > 1 && !scopes[scopes.size() - 2].empty();
  return isModule ? scopes[scopes.size() - 2] : nodeLabel(node).str();
}

namespace {

class ExportDiagnostics {
public:
  explicit ExportDiagnostics(const onnx::GraphProto &graph) : graph(graph) {
    for (const onnx::TensorProto &tensor : graph.initializer())
      known[tensor.name()] = &tensor;
    for (const onnx::NodeProto &node : graph.node())
      if (const onnx::AttributeProto *value = findAttribute(node, "value"))
        if (node.op_type() == "Constant" && value->has_t())
          known[node.output(0)] = &value->t();
  }

  Names find() {
    remarkDropout();
    remarkLostDropout();
    remarkBatch();
    remarkNames();
    return std::move(remarks);
  }

private:
  void remarkDropout() {
    Names idle;
    for (const onnx::NodeProto &node : graph.node())
      if (node.op_type() == "Dropout" && node.input_size() > 1 &&
          isZero(node.input(1)))
        idle.push_back(nodeLabel(node).str());
    if (!idle.empty())
      remarks.push_back(describe("Dropout", idle) +
                        " with ratio 0: no dropout in training");
  }

  /// PyTorch's newer exporter writes Dropout as an Identity in eval mode, or
  /// with probability 0. If there is another Dropout node, the model was not in
  /// eval mode.
  void remarkLostDropout() {
    Names lost;
    for (const onnx::NodeProto &node : graph.node()) {
      if (node.op_type() == "Dropout")
        return;
      StringRef op = node.op_type();
      std::string moduleClass = op == "Identity" ? opAndClass(node).second : "";
      if (StringRef(moduleClass).starts_with("torch.nn.modules.dropout."))
        lost.push_back(moduleOf(node));
    }
    if (!lost.empty())
      remarks.push_back(describe("Dropout", lost, "module") +
                        " without effect: the probability is 0, or the model "
                        "was exported in eval mode; to train with dropout, "
                        "call model.train() before exporting");
  }

  bool isZero(const std::string &name) {
    const onnx::TensorProto *tensor = known.lookup(name);
    return tensor && tensor->dims_size() == 0 &&
           ((tensor->float_data_size() == 1 && tensor->float_data(0) == 0) ||
            (!tensor->raw_data().empty() &&
             StringRef(tensor->raw_data()).find_first_not_of('\0') ==
                 StringRef::npos));
  }

  void remarkBatch() {
    Names inputs;
    int64_t batch = 0;
    for (const onnx::ValueInfoProto *input : dataInputs(graph)) {
      const auto &shape = input->type().tensor_type().shape();
      if (shape.dim_size() == 0 || !shape.dim(0).has_dim_value())
        continue;
      if (inputs.empty())
        batch = shape.dim(0).dim_value();
      if (shape.dim(0).dim_value() == batch)
        inputs.push_back("'" + input->name() + "'");
    }
    if (inputs.empty())
      return;
    Names reshapes;
    for (const onnx::NodeProto &node : graph.node())
      if (node.op_type() == "Reshape" && node.input_size() == 2 && batch > 1 &&
          firstInteger(node.input(1)) == batch)
        reshapes.push_back(nodeLabel(node).str());
    remarks.push_back(
        "the batch size is fixed to " + std::to_string(batch) + ", by " +
        llvm::join(inputs, ", ") +
        (reshapes.empty() ? "" : " and " + describe("Reshape", reshapes)) +
        "; to use option 'batch', export the model with a dynamic dimension");
  }

  /// The first integer of a known list; 0 if there is none.
  int64_t firstInteger(const std::string &name) {
    const onnx::TensorProto *tensor = known.lookup(name);
    if (!tensor || tensor->data_type() != onnx::TensorProto::INT64)
      return 0;
    if (tensor->int64_data_size() > 0)
      return tensor->int64_data(0);
    return tensor->raw_data().size() < sizeof(int64_t)
               ? 0
               : llvm::support::endian::read64le(tensor->raw_data().data());
  }

  /// ONNX requires unique names of values, but not of nodes.
  void remarkNames() {
    llvm::StringMap<unsigned> counts;
    Names shared;
    for (const onnx::NodeProto &node : graph.node())
      if (!node.name().empty() && ++counts[node.name()] == 2)
        shared.push_back("'" + node.name() + "'");
    if (!shared.empty())
      remarks.push_back(
          "several nodes share one name: " + llvm::join(shared, ", ") +
          "; messages, option 'keep-fp32' and option 'force-low' refer to all "
          "of them");
  }

  const onnx::GraphProto &graph;
  llvm::StringMap<const onnx::TensorProto *> known;
  Names remarks;
};

} // namespace

/// TorchScript's exporter folds a BatchNormalization in eval form into the
/// preceding Conv, and gives the computed weights recognizable names.
static void noteFoldedByTorchScript(const onnx::GraphProto &graph,
                                    Names &notes) {
  Names folded;
  for (const onnx::NodeProto &node : graph.node())
    if (node.op_type() == "Conv" && node.input_size() == 3 &&
        StringRef(node.input(1)).starts_with("onnx::Conv_") &&
        StringRef(node.input(2)).starts_with("onnx::Conv_"))
      folded.push_back(nodeLabel(node).str());
  if (!folded.empty())
    notes.push_back(
        "judging by the initializer names, PyTorch's exporter folded a "
        "BatchNormalization into " +
        describe("Conv", folded) +
        "; a folded batch norm cannot be trained; export with "
        "training=TrainingMode.TRAINING and do_constant_folding=False");
}

/// The optimizer of PyTorch's newer exporter folds batch norms into preceding
/// products; the product then has the metadata of the norm.
static void noteFoldedByOptimizer(const onnx::GraphProto &graph, Names &notes) {
  Names norms;
  for (const onnx::NodeProto &node : graph.node()) {
    StringRef op = node.op_type();
    bool isProduct =
        op == "Conv" || op == "ConvTranspose" || op == "Gemm" || op == "MatMul";
    if (isProduct && StringRef(opAndClass(node).first).contains("batch_norm"))
      norms.push_back(moduleOf(node));
  }
  if (!norms.empty())
    notes.push_back("PyTorch's exporter folded " +
                    describe("batch norm", norms, "module") +
                    " into the preceding convolutions and linear layers, so "
                    "they are not trained; export with optimize=False");
}

std::vector<std::string> mpc::findExportLosses(const onnx::GraphProto &graph) {
  Names notes;
  noteFoldedByTorchScript(graph, notes);
  noteFoldedByOptimizer(graph, notes);
  return notes;
}

std::vector<std::string> mpc::findRemarks(const onnx::GraphProto &graph) {
  return ExportDiagnostics(graph).find();
}
