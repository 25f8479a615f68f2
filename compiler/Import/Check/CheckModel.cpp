//===- CheckModel.cpp - Checks before the import --------------------------===//

#include "compiler/Import/Check/CheckModel.h"

#include "compiler/Import/Check/AttributeNames.h"
#include "compiler/Import/File/ModelGraphs.h"
#include "compiler/Import/Graph/OpTable.h"
#include "compiler/Import/Normalize/NormalizeModel.h"
#include "compiler/Support/Faults.h"
#include "compiler/Support/Locations.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace mpc;
using mlir::emitError;
using mlir::failure;
using mlir::FailureOr;
using mlir::Location;
using mlir::LogicalResult;
using mlir::MLIRContext;
using mlir::success;
using mlir::UnknownLoc;

StringRef mpc::nodeLabel(const onnx::NodeProto &node) {
  if (!node.name().empty())
    return node.name();
  for (const std::string &output : node.output())
    if (!output.empty())
      return output;
  return "(no name)";
}

static bool isDefaultDomain(StringRef domain) {
  return domain.empty() || domain == "ai.onnx";
}

std::string mpc::qualifiedOp(const onnx::NodeProto &node) {
  if (isDefaultDomain(node.domain()))
    return node.op_type();
  return node.domain() + "." + node.op_type();
}

Location mpc::nodeLocation(const onnx::NodeProto &node, MLIRContext *context) {
  return makeNodeLoc(context, nodeLabel(node), qualifiedOp(node));
}

//===----------------------------------------------------------------------===//
// The model as a whole
//===----------------------------------------------------------------------===//

/// Calls `visit` with all nodes, including those of subgraphs. The recursion is
/// bounded, because the parser limits the nesting of subgraphs.
static void forEachNode(const onnx::GraphProto &graph,
                        function_ref<void(const onnx::NodeProto &)> visit) {
  for (const onnx::NodeProto &node : graph.node()) {
    visit(node);
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        forEachNode(attribute.g(), visit);
  }
}

static void forEachNode(const onnx::ModelProto &model,
                        function_ref<void(const onnx::NodeProto &)> visit) {
  for (const onnx::GraphProto *graph : graphsOf(model))
    forEachNode(*graph, visit);
}

static FailureOr<int64_t> checkOpset(const onnx::ModelProto &model,
                                     Location loc) {
  const FaultScope scope(loc.getContext(), Fault::UnsupportedVersion);
  // Files with several entries for one domain exist; the newest one applies.
  int64_t opset = 0;
  for (const onnx::OperatorSetIdProto &entry : model.opset_import())
    if (isDefaultDomain(entry.domain()))
      opset = std::max<int64_t>(opset, entry.version());
  for (const onnx::OperatorSetIdProto &entry : model.opset_import())
    if (entry.version() != kOtherVersion && knowsDomain(entry.domain()))
      return emitError(loc, "the model uses version ")
             << entry.version() << " of domain " << entry.domain()
             << "; supported is " << kOtherVersion;
  bool isAsked = false;
  forEachNode(model, [&](const onnx::NodeProto &node) {
    isAsked |= isDefaultDomain(node.domain());
  });
  if (opset == 0 && !isAsked)
    return kNewestOpset; // No node belongs to this domain.
  if (opset == 0)
    return emitError(loc, "the model does not declare its opset");
  if (opset < kOldestOpset)
    return emitError(loc, "the model uses opset ")
           << opset << "; supported are " << kOldestUpgraded << " to "
           << kNewestOpset << ", so convert it (onnx.version_converter)";
  if (opset > kNewestOpset)
    return emitError(loc, "the model uses opset ")
           << opset << "; supported are " << kOldestUpgraded << " to "
           << kNewestOpset
           << ", so export it with opset_version=" << kNewestOpset;
  return opset;
}

static LogicalResult checkFeatures(const onnx::ModelProto &model,
                                   Location loc) {
  if (!model.has_graph())
    return emitError(loc, "the file holds no graph");
  const onnx::GraphProto &graph = model.graph();
  auto isSparse = [](const onnx::GraphProto &graph) {
    return graph.sparse_initializer_size() > 0;
  };
  if (any_of(graphsOf(model), [&](const auto *g) { return isSparse(*g); }))
    return emitError(loc, "the model has sparse initializers, which are not "
                          "supported; store them dense")
           << Fault::UnsupportedFeature;
  if (graph.quantization_annotation_size() > 0)
    return emitError(loc, "the model has quantization annotations; only "
                          "floating-point models can be trained")
           << Fault::UnsupportedFeature;
  if (graph.output_size() == 0 && model.training_info_size() == 0)
    return emitError(loc, "the graph has no output");
  return success();
}

//===----------------------------------------------------------------------===//
// Unsupported ops
//===----------------------------------------------------------------------===//

namespace {

struct OpUses {
  SmallVector<const onnx::NodeProto *> nodes;
  std::string hint;
};

} // namespace

std::string mpc::unsupportedReason(const onnx::NodeProto &node, int64_t opset) {
  std::string op = qualifiedOp(node);
  if (findOp(op, opset))
    return "";
  if (int64_t since = firstOpset(op))
    return ("exists from opset " + Twine(since) + " on, the model uses " +
            Twine(opset))
        .str();
  return isDefaultDomain(node.domain())
             ? "not supported"
             : ("custom op of domain '" + node.domain() + "'");
}

/// Reports all unsupported ops in one error with one note each, ops in order of
/// first use, so that the user sees everything that is missing at once.
static LogicalResult checkOps(const onnx::ModelProto &model, int64_t opset,
                              ModelSurvey *survey, Location loc) {
  MapVector<StringRef, OpUses> unsupported;
  StringSet<> names; // Owns the keys.
  unsigned numNodes = 0;
  forEachNode(model, [&](const onnx::NodeProto &node) {
    if (survey)
      ++survey->numNodes;
    std::string hint = unsupportedReason(node, opset);
    if (hint.empty())
      return;
    StringRef name = names.insert(qualifiedOp(node)).first->getKey();
    OpUses &uses = unsupported[name];
    uses.nodes.push_back(&node);
    uses.hint = hint;
    ++numNodes;
  });
  if (survey) {
    for (auto &[name, uses] : unsupported) {
      survey->refusals.push_back({name.str(), uses.hint, {}});
      for (const onnx::NodeProto *node : uses.nodes)
        survey->refusals.back().nodes.push_back(nodeLabel(*node).str());
    }
    return success();
  }
  if (unsupported.empty())
    return success();

  auto plural = [](size_t count, StringRef noun) {
    return (Twine(count) + " " + noun + (count == 1 ? "" : "s")).str();
  };
  auto error = emitError(loc)
               << Fault::UnsupportedOp
               << plural(unsupported.size(), "unsupported op") << " in "
               << plural(numNodes, "node") << "; 'mpc doctor' shows what to do";
  for (auto &[name, uses] : unsupported) {
    constexpr size_t kShown = 5;
    std::string text;
    raw_string_ostream os(text);
    os << name << " (" << plural(uses.nodes.size(), "node") << "): ";
    ArrayRef<const onnx::NodeProto *> nodes = uses.nodes;
    interleaveComma(nodes.take_front(kShown), os,
                    [&](auto *node) { os << "'" << nodeLabel(*node) << "'"; });
    if (nodes.size() > kShown)
      os << " and " << nodes.size() - kShown << " more";
    if (uses.hint != "not supported")
      os << "; " << uses.hint;
    error.attachNote(loc) << text;
  }
  return error;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

namespace {

/// Checks that every name is defined once, and before its use. Each graph sees
/// the names of the previous graphs.
class NameChecker {
public:
  NameChecker(ArrayRef<const onnx::GraphProto *> graphs, MLIRContext *context)
      : graphs(graphs), context(context) {}

  LogicalResult check();

private:
  Location thingLocation(StringRef name, StringRef type) {
    return makeNodeLoc(context, name, type);
  }
  LogicalResult checkGraph(const onnx::GraphProto &graph);
  LogicalResult define(StringRef name, Location loc);
  LogicalResult checkNode(const onnx::NodeProto &node);
  LogicalResult checkSubgraph(const onnx::GraphProto &body);
  LogicalResult reportUndefined(StringRef name, StringRef label, Location loc);

  ArrayRef<const onnx::GraphProto *> graphs;
  MLIRContext *const context;
  StringMap<Location> defined;
  StringMap<const onnx::NodeProto *>
      producers; // The node that produces each value.
};

} // namespace

/// Packages and checkpoints store names as NUL-terminated text.
static LogicalResult checkText(StringRef name, Location loc) {
  const char *fault = name.contains('\0')         ? "holds a NUL"
                      : !llvm::json::isUTF8(name) ? "is not UTF-8"
                                                  : nullptr;
  if (!fault)
    return success();
  return emitError(loc)
         << "its name " << fault
         << "; rename it in the model: names are UTF-8 text without NUL";
}

LogicalResult NameChecker::define(StringRef name, Location loc) {
  if (name.empty())
    return emitError(loc, "has no name");
  if (failed(checkText(name, loc)))
    return failure();
  auto [entry, isNew] = defined.try_emplace(name, loc);
  if (isNew)
    return success();
  auto error = emitError(loc) << "'" << name << "' is already defined";
  error.attachNote(entry->second) << "first defined here";
  return error;
}

/// Distinguishes a wrong order and a cycle from an undefined name.
LogicalResult NameChecker::reportUndefined(StringRef name, StringRef label,
                                           Location loc) {
  const onnx::NodeProto *producer = producers.lookup(name);
  if (!producer)
    return emitError(loc) << label << " '" << name
                          << "' is not defined: no input, initializer or node "
                             "output has this name";
  auto error = emitError(loc)
               << label << " '" << name
               << "' is used before the node that produces it; nodes must be "
                  "in topological order, so cycles are not allowed";
  error.attachNote(nodeLocation(*producer, context)) << "it is produced here";
  return error;
}

LogicalResult NameChecker::checkNode(const onnx::NodeProto &node) {
  Location loc = nodeLocation(node, context);
  if (failed(checkText(node.name(), loc)))
    return failure();
  for (auto [i, input] : enumerate(node.input()))
    if (!input.empty() && !defined.contains(input))
      return reportUndefined(input, ("input " + Twine(i)).str(), loc);
  for (StringRef name : namesInAttributes(node))
    if (!defined.contains(name))
      return reportUndefined(name, "the tensor of an attribute,", loc);
  bool hasOutput = false;
  for (const std::string &output : node.output()) {
    if (output.empty())
      continue;
    hasOutput = true;
    if (failed(define(output, loc)))
      return failure();
  }
  if (!hasOutput)
    return emitError(loc, "has no output");
  StringSet<> attributes;
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (!attributes.insert(attribute.name()).second)
      return emitError(loc)
             << "has attribute '" << attribute.name() << "' twice";
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.has_g() && failed(checkSubgraph(attribute.g())))
      return failure();
  return success();
}

/// A subgraph sees the names around it; its own names are local.
LogicalResult NameChecker::checkSubgraph(const onnx::GraphProto &body) {
  SmallVector<std::string> own;
  auto defineOwn = [&](const std::string &name, StringRef type) {
    own.push_back(name);
    return define(name, thingLocation(name, type));
  };
  for (const onnx::ValueInfoProto &input : body.input())
    if (failed(defineOwn(input.name(), "input")))
      return failure();
  for (const onnx::TensorProto &tensor : body.initializer())
    if (failed(defineOwn(tensor.name(), "initializer")))
      return failure();
  for (const onnx::NodeProto &node : body.node()) {
    if (failed(checkNode(node)))
      return failure();
    own.append(node.output().begin(), node.output().end());
  }
  for (const onnx::ValueInfoProto &output : body.output())
    if (!defined.contains(output.name()))
      return emitError(thingLocation(output.name(), "output"),
                       "of a subgraph is not defined");
  for (const std::string &name : own)
    defined.erase(name);
  return success();
}

LogicalResult NameChecker::check() {
  for (const onnx::GraphProto *graph : graphs)
    for (const onnx::NodeProto &node : graph->node())
      for (const std::string &output : node.output())
        producers.try_emplace(output, &node);
  for (const onnx::GraphProto *graph : graphs)
    if (failed(checkGraph(*graph)))
      return failure();
  return success();
}

LogicalResult NameChecker::checkGraph(const onnx::GraphProto &graph) {
  StringSet<> initializers;
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    if (failed(
            define(tensor.name(), thingLocation(tensor.name(), "initializer"))))
      return failure();
    initializers.insert(tensor.name());
  }
  StringSet<> inputs;
  for (const onnx::ValueInfoProto &input : graph.input()) {
    // Before IR version 4 every initializer is an input as well.
    Location loc = thingLocation(input.name(), "input");
    if (!inputs.insert(input.name()).second)
      return emitError(loc, "is listed twice");
    if (!initializers.contains(input.name()) &&
        failed(define(input.name(), loc)))
      return failure();
  }
  for (const onnx::NodeProto &node : graph.node())
    if (failed(checkNode(node)))
      return failure();
  StringSet<> outputs;
  for (const onnx::ValueInfoProto &output : graph.output()) {
    Location loc = thingLocation(output.name(), "output");
    if (!defined.contains(output.name()))
      return emitError(loc,
                       "is not defined: no node has an output of this name");
    if (!outputs.insert(output.name()).second)
      return emitError(loc, "is listed twice");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Inputs and outputs of nodes
//===----------------------------------------------------------------------===//

static LogicalResult checkCounts(const onnx::NodeProto &node, const OpRow &row,
                                 Location loc) {
  // Trailing empty names count as absent.
  auto countNames = [](const auto &names) {
    unsigned count = names.size();
    while (count > 0 && names.Get(count - 1).empty())
      --count;
    return count;
  };
  unsigned numInputs = countNames(node.input());
  if (numInputs > row.maxInputs)
    return emitError(loc) << "has " << numInputs
                          << " inputs, but takes at most " << row.maxInputs;
  for (unsigned i = 0; i < std::max(row.minInputs, numInputs); ++i) {
    bool isVariadic = row.maxInputs == kAnyNumber && i >= row.firstVariadic;
    if ((isVariadic || i < row.minInputs) &&
        (i >= numInputs || node.input(i).empty()))
      return emitError(loc) << "input " << i << " is missing";
  }
  unsigned numOutputs = countNames(node.output());
  if (numOutputs > row.maxOutputs)
    return emitError(loc) << "has " << numOutputs
                          << " outputs, but gives at most " << row.maxOutputs;
  // If there are several outputs, any may be omitted.
  if (row.maxOutputs == 1 && node.output(0).empty())
    return emitError(loc, "output 0 is missing");
  return success();
}

/// Algorithms see the names of the graph, but neither the graph nor other
/// algorithms see theirs.
static LogicalResult checkNames(const onnx::ModelProto &model,
                                MLIRContext *context) {
  const FaultScope scope(context, Fault::InvalidName);
  const onnx::GraphProto *graph = &model.graph();
  if (failed(NameChecker(graph, context).check()))
    return failure();
  for (const onnx::TrainingInfoProto &info : model.training_info()) {
    const onnx::GraphProto *start = &info.initialization();
    const onnx::GraphProto *joined[] = {graph, &info.algorithm()};
    if (failed(NameChecker(start, context).check()) ||
        failed(NameChecker(joined, context).check()))
      return failure();
  }
  return success();
}

FailureOr<int64_t> mpc::checkModel(const ModelFile &model, MLIRContext *context,
                                   ModelSurvey *survey) {
  Location loc = UnknownLoc::get(context);
  if (failed(checkFeatures(model.proto, loc)))
    return failure();
  FailureOr<int64_t> opset = checkOpset(model.proto, loc);
  if (failed(opset) || failed(checkOps(model.proto, *opset, survey, loc)) ||
      failed(checkNames(model.proto, context)))
    return failure();
  const FaultScope scope(context, Fault::OperandCount);
  bool fits = true;
  forEachNode(model.proto, [&](const onnx::NodeProto &node) {
    if (unsupportedReason(node, *opset).empty())
      fits = fits &&
             succeeded(checkCounts(node, *findOp(qualifiedOp(node), *opset),
                                   nodeLocation(node, context)));
  });
  if (!fits)
    return failure();
  return opset;
}
