//===- InlineFunctions.cpp - Inlining of functions ------------------------===//

#include "compiler/Import/Normalize/InlineFunctions.h"

#include "compiler/Import/Check/AttributeNames.h"
#include "compiler/Import/Check/CheckModel.h"
#include "compiler/Import/File/ModelGraphs.h"
#include "compiler/Import/File/NewerFields.h"
#include "compiler/Import/Graph/OpTable.h"
#include "compiler/Support/Faults.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace llvm;
using namespace mpc;
using mlir::emitError;
using mlir::failed;
using mlir::failure;
using mlir::Location;
using mlir::LogicalResult;
using mlir::success;
using mlir::UnknownLoc;
using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

static std::string keyOf(StringRef domain, StringRef name,
                         const std::string &overload) {
  bool isDefault = domain.empty() || domain == "ai.onnx";
  std::string key = isDefault ? name.str() : (domain + "." + name).str();
  return overload.empty() ? key : key + ":" + overload;
}

/// Functions of one name differ in `overload`, which calls also have.
static std::string keyOf(const onnx::NodeProto &node) {
  return keyOf(node.domain(), node.op_type(), readNewerText(node, 8));
}
static std::string keyOf(const onnx::FunctionProto &function) {
  return keyOf(function.domain(), function.name(), readNewerText(function, 13));
}

/// Maximum nesting of functions and subgraphs: later code is recursive.
constexpr unsigned kMaxNesting = 100;

static int64_t opsetOf(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto> &sets) {
  int64_t opset = 0;
  for (const onnx::OperatorSetIdProto &set : sets)
    if (set.domain().empty() || set.domain() == "ai.onnx")
      opset = std::max<int64_t>(opset, set.version());
  return opset;
}

namespace {

class Inliner {
public:
  Inliner(onnx::ModelProto &model, int64_t maxNodes, mlir::MLIRContext *context)
      : model(model), maxNodes(maxNodes), context(context),
        opset(opsetOf(model.opset_import())) {}

  ModelError run();

private:
  using Names = StringMap<std::string>;

  LogicalResult inlineInto(Nodes &nodes, Location owner);
  LogicalResult inlineSubgraphs(onnx::NodeProto &node);
  LogicalResult expand(const onnx::NodeProto &call,
                       const onnx::FunctionProto &function, Nodes &result);
  LogicalResult checkOpset(const onnx::FunctionProto &function, Location loc);
  LogicalResult checkCall(const onnx::NodeProto &call,
                          const onnx::FunctionProto &function, Location loc);
  int64_t expandedCount(const Nodes &nodes);
  LogicalResult checkNames(const onnx::FunctionProto &function,
                           StringRef prefix, Location loc);
  void rename(onnx::NodeProto &node, const Names &outer,
              const std::string &prefix);
  void renameGraph(onnx::GraphProto &graph, const Names &outer,
                   const std::string &prefix);
  using Attributes = std::vector<onnx::AttributeProto>;
  static void resolve(onnx::NodeProto &node, const onnx::NodeProto &call,
                      const Attributes &defaults);

  LogicalResult inlineAll();

  onnx::ModelProto &model;
  const int64_t maxNodes;
  mlir::MLIRContext *context;
  const int64_t opset;
  ModelError error = ModelError::Invalid; ///< The kind of the failure.
  StringMap<const onnx::FunctionProto *> functions;
  StringMap<unsigned> numCalls; ///< Calls by name, for unique prefixes.
  StringSet<> active;           ///< Functions that are being expanded.
  StringMap<int64_t> sizes;     ///< Sizes of functions (see expandedCount).
  int64_t numCharacters = 0;
  unsigned depth = 0;
};

} // namespace

/// Checks that ops in the body of `function` have the same meaning as in the
/// model.
LogicalResult Inliner::checkOpset(const onnx::FunctionProto &function,
                                  Location loc) {
  int64_t own = opsetOf(function.opset_import());
  if (own == 0 || own == opset)
    return success();
  for (const onnx::NodeProto &node : function.node())
    if (findOp(qualifiedOp(node), own) != findOp(qualifiedOp(node), opset))
      return emitError(loc)
             << Fault::UnsupportedVersion << "calls a function of opset " << own
             << ", where " << node.op_type() << " differs from opset " << opset
             << " of the model; convert the function";
  return success();
}

template <typename Attributes>
static const onnx::AttributeProto *findAttribute(const Attributes &attributes,
                                                 StringRef name) {
  for (const onnx::AttributeProto &attribute : attributes)
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

/// Replaces references to attributes of the call with the call's value, or with
/// the function's default, or removes them. Includes subgraphs.
void Inliner::resolve(onnx::NodeProto &node, const onnx::NodeProto &call,
                      const Attributes &defaults) {
  auto *attributes = node.mutable_attribute();
  for (int i = attributes->size(); i-- > 0;) {
    onnx::AttributeProto &attribute = *attributes->Mutable(i);
    if (!attribute.ref_attr_name().empty()) {
      const std::string name = attribute.name();
      const std::string &wanted = attribute.ref_attr_name();
      const onnx::AttributeProto *value =
          findAttribute(call.attribute(), wanted);
      if (!value)
        value = findAttribute(defaults, wanted);
      if (!value) {
        attributes->DeleteSubrange(i, 1);
        continue;
      }
      onnx::AttributeProto chosen = *value; // May be part of `attribute`.
      chosen.set_name(name);
      attribute = chosen;
      continue;
    }
    if (attribute.has_g())
      for (onnx::NodeProto &inner : *attribute.mutable_g()->mutable_node())
        resolve(inner, call, defaults);
  }
}

/// Renames a subgraph: its names are local, except those in `outer`.
void Inliner::renameGraph(onnx::GraphProto &graph, const Names &outer,
                          const std::string &prefix) {
  Names names = outer;
  auto own = [&](std::string *name) {
    if (name->empty())
      return;
    std::string renamed = prefix + *name;
    names[*name] = renamed;
    *name = renamed;
  };
  for (onnx::ValueInfoProto &input : *graph.mutable_input())
    own(input.mutable_name());
  for (onnx::TensorProto &tensor : *graph.mutable_initializer())
    own(tensor.mutable_name());
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    rename(node, names, prefix);
    for (std::string &output : *node.mutable_output())
      own(&output);
  }
  for (onnx::ValueInfoProto &output : *graph.mutable_output()) {
    auto found = names.find(output.name());
    if (found != names.end())
      output.set_name(found->second);
  }
}

/// Gives a node, its inputs and its subgraphs their names in the model.
void Inliner::rename(onnx::NodeProto &node, const Names &names,
                     const std::string &prefix) {
  node.set_name(prefix + nodeLabel(node).str());
  auto change = [&](std::string &name) {
    auto found = names.find(name);
    if (found != names.end())
      name = found->second;
  };
  llvm::for_each(*node.mutable_input(), change);
  renameInAttributes(node, change);
  for (onnx::AttributeProto &attribute : *node.mutable_attribute())
    if (attribute.has_g())
      renameGraph(*attribute.mutable_g(), names, prefix);
}

/// Checks that a call matches its function.
LogicalResult Inliner::checkCall(const onnx::NodeProto &call,
                                 const onnx::FunctionProto &function,
                                 Location loc) {
  if (call.input_size() <= function.input_size() &&
      call.output_size() <= function.output_size())
    return checkOpset(function, loc);
  return emitError(loc) << Fault::OperandCount << "has " << call.input_size()
                        << " inputs and " << call.output_size()
                        << " outputs, but function '" << keyOf(function)
                        << "' has " << function.input_size() << " and "
                        << function.output_size();
}

/// The number of nodes that `nodes` and their subgraphs expand to, up to a
/// bound. Counts 0 for calls that are recursive or nest too deeply: expand
/// reports them.
int64_t Inliner::expandedCount(const Nodes &nodes) {
  if (depth > kMaxNesting)
    return 0;
  llvm::SaveAndRestore deeper(depth, depth + 1);
  int64_t count = 0;
  for (const onnx::NodeProto &node : nodes) {
    std::string key = keyOf(node);
    auto found = functions.find(key);
    if (found == functions.end()) {
      ++count;
      for (const onnx::AttributeProto &attribute : node.attribute())
        if (attribute.has_g())
          count += expandedCount(attribute.g().node());
    } else if (auto [size, isNew] = sizes.try_emplace(key, 0); !isNew) {
      count += size->second;
    } else {
      int64_t own = expandedCount(found->second->node());
      sizes[key] = own;
      count += own;
    }
    count = std::min(count, maxNodes + 1);
  }
  return count;
}

/// Limits the total length of names: the prefix of a call is repeated in all
/// nested names.
LogicalResult Inliner::checkNames(const onnx::FunctionProto &function,
                                  StringRef prefix, Location loc) {
  constexpr int64_t kMaxCharacters = int64_t(1) << 26;
  numCharacters += expandedCount(function.node()) * int64_t(prefix.size());
  if (numCharacters <= kMaxCharacters)
    return success();
  error = ModelError::Limit;
  return emitError(loc) << Fault::TooLarge
                        << "with this call the names of nodes in functions "
                           "exceed 2^26 characters in total; shorten them";
}

LogicalResult Inliner::expand(const onnx::NodeProto &call,
                              const onnx::FunctionProto &function,
                              Nodes &result) {
  Location loc = nodeLocation(call, context);
  std::string key = keyOf(function);
  if (!active.insert(key).second)
    return emitError(loc) << "calls function '" << key
                          << "', which calls itself";
  std::string label = nodeLabel(call).str();
  unsigned count = numCalls[label]++;
  std::string prefix =
      label + (count ? "#" + std::to_string(count) : std::string()) + "/";
  if (failed(checkCall(call, function, loc)) ||
      failed(checkNames(function, prefix, loc)))
    return failure();
  Names names;
  for (int i = 0; i < function.input_size(); ++i)
    names[function.input(i)] = i < call.input_size() ? call.input(i) : "";
  Names results; // The caller's names of outputs.
  for (int i = 0; i < call.output_size(); ++i)
    if (!call.output(i).empty())
      results[function.output(i)] = call.output(i);
  // `attribute_proto` of a FunctionProto.
  Attributes defaults = readNewerField<onnx::AttributeProto>(function, 11);
  Nodes body = function.node();
  for (onnx::NodeProto &node : body) {
    resolve(node, call, defaults);
    rename(node, names, prefix);
    for (std::string &output : *node.mutable_output()) {
      if (output.empty())
        continue;
      auto found = results.find(output);
      std::string renamed =
          found != results.end() ? found->second : prefix + output;
      names[output] = renamed;
      output = renamed;
    }
  }
  // An output may be an unchanged input.
  for (int i = 0; i < call.output_size(); ++i) {
    auto found = names.find(function.output(i));
    if (call.output(i).empty() ||
        (found != names.end() && found->second == call.output(i)))
      continue;
    onnx::NodeProto &identity = *body.Add();
    identity.set_op_type("Identity");
    identity.set_name(prefix + function.output(i));
    identity.add_input(found != names.end() ? found->second
                                            : prefix + function.output(i));
    identity.add_output(call.output(i));
  }
  if (failed(inlineInto(body, loc)))
    return failure();
  for (onnx::NodeProto &node : body)
    result.Add()->Swap(&node);
  active.erase(key);
  return success();
}

LogicalResult Inliner::inlineSubgraphs(onnx::NodeProto &node) {
  for (onnx::AttributeProto &attribute : *node.mutable_attribute())
    if (attribute.has_g() &&
        failed(inlineInto(*attribute.mutable_g()->mutable_node(),
                          nodeLocation(node, context))))
      return failure();
  return success();
}

/// Replaces calls with the bodies of their functions; `owner` is the location
/// of the function or graph that contains the nodes.
LogicalResult Inliner::inlineInto(Nodes &nodes, Location owner) {
  Nodes result;
  if (depth > kMaxNesting)
    return emitError(owner)
           << Fault::TooLarge << "is in more than " << kMaxNesting
           << " nested functions and subgraphs; inline some (onnx.inliner)";
  llvm::SaveAndRestore deeper(depth, depth + 1);
  for (onnx::NodeProto &node : nodes) {
    auto found = functions.find(keyOf(node));
    if (found != functions.end()) {
      if (failed(expand(node, *found->second, result)))
        return failure();
      continue;
    }
    if (failed(inlineSubgraphs(node)))
      return failure();
    result.Add()->Swap(&node);
  }
  nodes.Swap(&result);
  return success();
}

LogicalResult Inliner::inlineAll() {
  for (const onnx::FunctionProto &function : model.functions()) {
    std::string key = keyOf(function);
    if (findOp(key, kNewestOpset)) // The function is for other runtimes.
      continue;
    if (!functions.try_emplace(key, &function).second)
      return emitError(UnknownLoc::get(context))
             << Fault::InvalidName << "the model has two functions '" << key
             << "' of one overload; rename one, or inline them (onnx.inliner)";
  }
  if (functions.empty())
    return success();
  Location loc = UnknownLoc::get(context);
  SmallVector<onnx::GraphProto *> graphs = mutableGraphsOf(model);
  int64_t count = 0;
  for (const onnx::GraphProto *graph : graphs)
    count += expandedCount(graph->node());
  if (count > maxNodes) {
    error = ModelError::Limit;
    return emitError(loc) << Fault::TooLarge
                          << "the calls of functions in the model make more "
                             "than "
                          << maxNodes
                          << " nodes, the limit; simplify the functions, or "
                             "raise the limit with option 'max-ops'";
  }
  for (onnx::GraphProto *graph : graphs)
    if (failed(inlineInto(*graph->mutable_node(), loc)))
      return failure();
  model.clear_functions();
  return success();
}

ModelError Inliner::run() {
  return succeeded(inlineAll()) ? ModelError::None : error;
}

ModelError mpc::inlineFunctions(onnx::ModelProto &model, int64_t maxNodes,
                                mlir::MLIRContext *context) {
  return Inliner(model, maxNodes, context).run();
}
