//===- Export.cpp - Trained weights as an ONNX file -----------------------===//

#include "compiler/Export/Export.h"

#include "compiler/Export/ExportTraining.h"
#include "compiler/Export/WriteModel.h"
#include "compiler/Import/File/ForEachTensor.h"
#include "compiler/Import/File/ModelGraphs.h"
#include "compiler/Import/File/TensorData.h"
#include "compiler/Import/Initializers/Signature.h"
#include "compiler/Import/Initializers/Statistics.h"
#include "compiler/Import/Normalize/InlineFunctions.h"
#include "compiler/Import/Normalize/NormalizeModel.h"
#include "compiler/Import/TrainingStep/OrtArtifacts.h"
#include "compiler/Support/HalfFloat.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"

#include <new>

using namespace llvm;
using namespace mpc;
using onnx::TensorProto;

static Error invalid(const Twine &message) {
  return makeModelError(ModelError::Invalid, message);
}

//===----------------------------------------------------------------------===//
// Writing values into tensors
//===----------------------------------------------------------------------===//

/// Converts each value to an `Element` with `convert` and returns the bytes.
template <typename Element, typename ConvertFn>
static std::string toBytes(ArrayRef<float> values, ConvertFn convert) {
  std::string bytes(values.size() * sizeof(Element), '\0');
  for (auto [i, value] : enumerate(values)) {
    Element element = convert(value);
    std::memcpy(bytes.data() + i * sizeof(Element), &element, sizeof(Element));
  }
  return bytes;
}

static Error setValues(TensorProto &tensor, StringRef name,
                       ArrayRef<float> values) {
  Expected<int64_t> count = countElements(
      ArrayRef<int64_t>(tensor.dims().data(), tensor.dims_size()));
  if (!count)
    return count.takeError();
  if (*count != int64_t(values.size()))
    return invalid("state '" + name + "' has " + Twine(values.size()) +
                   " elements, but the initializer in the model has " +
                   Twine(*count));
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
    setRaw(tensor, toBytes<float>(values, [](float v) { return v; }));
    return Error::success();
  case TensorProto::DOUBLE:
    setRaw(tensor, toBytes<double>(values, [](float v) { return double(v); }));
    return Error::success();
  case TensorProto::FLOAT16:
    setRaw(tensor, toBytes<uint16_t>(values, floatToHalf));
    return Error::success();
  case TensorProto::BFLOAT16:
    setRaw(tensor, toBytes<uint16_t>(values, floatToBfloat));
    return Error::success();
  default:
    return invalid("initializer '" + name + "' holds " +
                   dataTypeName(tensor.data_type()) +
                   " elements, which cannot hold trained values");
  }
}

/// Gives statistics that share their initializer with something else an
/// initializer of their own, as the import did.
static void splitStatistics(onnx::ModelProto &model,
                            const TrainedStates &states) {
  onnx::GraphProto &graph = *model.mutable_graph();
  Statistics statistics(graph, Signature(model).isKnown());
  StringMap<const TensorProto *> initializers;
  for (const TensorProto &tensor : graph.initializer())
    initializers[tensor.name()] = &tensor;
  StringSet<> isNew;
  for (const auto &[place, state] : statistics.all()) {
    if (state.name == state.initializer || !states.count(state.name))
      continue;
    if (isNew.insert(state.name).second) {
      TensorProto copy = *initializers.lookup(state.initializer);
      copy.set_name(state.name);
      *graph.add_initializer() = std::move(copy);
    }
    graph.mutable_node(place.first)->set_input(place.second, state.name);
  }
}

/// If a function with a norm is called twice, its calls share a statistic in
/// the file but not in training. In this case the model is written with inlined
/// functions.
static Error separateCalls(onnx::ModelProto &model,
                           const TrainedStates &states) {
  StringSet<> names;
  for (const TensorProto &tensor : model.graph().initializer())
    names.insert(tensor.name());
  Statistics statistics(model.graph(), Signature(model).isKnown());
  for (const auto &[place, state] : statistics.all())
    names.insert(state.name);
  bool knowsAll = llvm::all_of(
      states, [&](const auto &state) { return names.contains(state.first); });
  if (knowsAll || model.functions_size() == 0)
    return Error::success();
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  // The model was compiled, with whatever limit.
  if (inlineFunctions(model, kMaxModelParts, &context) != ModelError::None)
    return invalid("the functions of the model cannot be inlined");
  return Error::success();
}

/// Sets an integer initializer of one element.
static Error setCounter(TensorProto &tensor, int64_t value) {
  Expected<int64_t> count = countElements(
      ArrayRef<int64_t>(tensor.dims().data(), tensor.dims_size()));
  if (!count)
    return count.takeError();
  bool isInt = tensor.data_type() == TensorProto::INT64;
  if (*count != 1 || (!isInt && tensor.data_type() != TensorProto::INT32))
    return invalid("initializer '" + tensor.name() +
                   "' of the model is not one integer");
  int32_t narrow = static_cast<int32_t>(value);
  const char *bytes = isInt ? reinterpret_cast<const char *>(&value)
                            : reinterpret_cast<const char *>(&narrow);
  setRaw(tensor, std::string(bytes, isInt ? sizeof(value) : sizeof(narrow)));
  return Error::success();
}

static Error replaceValues(onnx::ModelProto &model, const TrainedStates &states,
                           const std::map<std::string, int64_t> &counters) {
  bool hasImportedStep = model.training_info_size() > 0;
  if (!hasImportedStep)
    splitStatistics(model, states);
  StringMap<TensorProto *> initializers;
  for (onnx::GraphProto *graph : mutableGraphsOf(model))
    for (TensorProto &tensor : *graph->mutable_initializer())
      initializers[tensor.name()] = &tensor;
  for (const auto &[name, values] : states) {
    TensorProto *tensor = initializers.lookup(name);
    if (!tensor)
      return invalid("the model has no initializer '" + name +
                     "'; the states belong to another model");
    if (Error error = setValues(*tensor, name, values))
      return error;
  }
  for (const auto &[name, value] : counters)
    if (TensorProto *tensor = initializers.lookup(name))
      if (Error error = setCounter(*tensor, value))
        return error;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

/// Exports the evaluation model of training artifacts, without the loss.
static Error exportArtifacts(StringRef folder, const TrainedStates &states,
                             StringRef outPath, const ExportOptions &options) {
  Expected<OrtArtifacts> artifacts = readOrtArtifacts(folder);
  if (!artifacts)
    return artifacts.takeError();
  onnx::ModelProto proto = makeInferenceModel(*artifacts);
  if (Error error = replaceValues(proto, states, /*counters=*/{}))
    return error;
  return writeModel(proto, outPath, options.maxInlineBytes);
}

Error mpc::exportTrained(StringRef originalPath, const TrainedStates &states,
                         StringRef outPath, const ExportOptions &options) {
  // Protobuf and the standard library throw when memory is exhausted.
  try {
    if (sys::fs::is_directory(originalPath))
      return exportArtifacts(originalPath, states, outPath, options);
    Expected<std::shared_ptr<ModelFile>> model = readModelFile(originalPath);
    if (!model)
      return model.takeError();
    onnx::ModelProto &proto = (*model)->proto;
    // Lift weights as the import did. Weights that were to be trained
    // separately are states.
    if (proto.training_info_size() == 0) {
      liftWeights(proto);
      auto isApart = [&](StringRef name) {
        return states.count(name.str()) != 0;
      };
      restoreTiedWeights(*model, isApart);
      deduplicateRepeatedWeights(*model, isApart);
      if (Error error = separateCalls(proto, states))
        return error;
    }
    if (Error error = replaceValues(proto, states, options.counters))
      return error;
    if (options.training)
      if (Error error = addTrainingInfo(proto, *options.training))
        return error;
    if (Error error = inlineExternalData(*model))
      return error;
    return writeModel(proto, outPath, options.maxInlineBytes);
  } catch (const std::bad_alloc &) {
    return makeModelError(ModelError::Limit, "out of memory");
  }
}
