//===- GraphNotes.cpp - Notes of an import -------------------------===//

#include "compiler/Import/Check/AttributeNames.h"
#include "compiler/Import/Graph/Elements.h"
#include "compiler/Import/Graph/GraphImporter.h"
#include "compiler/Import/Initializers/InitializerHeuristics.h"
#include "compiler/Import/Normalize/ModulePaths.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <cstring>
#include <optional>

using namespace mlir;
using namespace mpc;

/// Adds a note about options for norms that have no effect.
void GraphImporter::noteNorms() {
  bool isGiven = options.batchNorm != ImportOptions::BatchNorm::Auto;
  if (isGiven && numNorms == 0)
    result.notes.push_back("option 'batchnorm' has no effect: the model has no "
                           "BatchNormalization");
  if (options.syncBatchNorm && result.numSyncedNorms == 0)
    result.notes.push_back(
        "option 'sync-batchnorm' has no effect: no BatchNormalization of the "
        "model has running statistics that training updates");
  if (options.syncBatchNorm && numUnsyncedNorms > 0)
    result.notes.push_back(
        "option 'sync-batchnorm' does not apply to BatchNormalization without "
        "running statistics, which uses the batch of one process: " +
        std::to_string(numUnsyncedNorms));
}

/// Adds a note about norms that are frozen by default.
void GraphImporter::noteFrozenNorms() {
  auto add = [&](unsigned count, StringRef why) {
    if (count > 0)
      result.notes.push_back((Twine(count) + " of " + Twine(numNorms) +
                              " BatchNormalization nodes keep their running "
                              "statistics and normalize by them, because " +
                              why +
                              "; use option 'batchnorm'=train to change it")
                                 .str());
  };
  add(numFrozenNorms, "option 'freeze' matches these, or their scale and bias");
  add(numEvalNorms, "they are in eval form, while others are in training form");
}

void GraphImporter::noteDecisions() {
  if (!step) { // An own step determines what is trained, and no option changes
               // that.
    noteNorms();
    noteShared();
    noteModel();
  }
  if (numWidened > 0)
    result.notes.push_back(
        std::to_string(numWidened) +
        (numWidened == 1 ? " initializer is" : " initializers are") +
        " converted from 16-bit floats to " +
        (floatType.isF64() ? "f64" : "f32"));
}

/// Returns true if a node reads the elements of an input, not only its shape or
/// type.
static bool readsElements(const onnx::NodeProto &node, int input) {
  const std::string &op = node.op_type();
  return op != "Shape" && op != "Size" && (op != "CastLike" || input == 0);
}

/// Identifies the call of a module or op that a node belongs to; exporters emit
/// several nodes for one call. PyTorch's newer exporter records the scopes;
/// TorchScript's exporter includes the module in the node's name:
/// "/lstm_1/Slice_3".
static std::string callOf(const onnx::NodeProto &node) {
  std::string scopes = readNodeMetadata(node, kNameScopes);
  if (!scopes.empty())
    return scopes;
  StringRef name = node.name();
  size_t end = name.rfind('/');
  if (name.starts_with("/") && end > 0)
    return name.take_front(end).str();
  return "node " + std::to_string(reinterpret_cast<uintptr_t>(&node));
}

/// Collects, for each parameter, the calls that read it.
void GraphImporter::collectReaders(
    const onnx::GraphProto &graph,
    llvm::StringMap<llvm::StringSet<>> &readers) const {
  for (const onnx::NodeProto &node : graph.node()) {
    for (int i = 0; i < node.input_size(); ++i)
      if (trained.contains(node.input(i)) && readsElements(node, i))
        readers[node.input(i)].insert(callOf(node));
    for (StringRef name : namesInAttributes(node))
      if (trained.contains(name))
        readers[name].insert(callOf(node));
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        collectReaders(attribute.g(), readers);
  }
  for (const onnx::ValueInfoProto &output : graph.output())
    if (trained.contains(output.name()))
      readers[output.name()].insert("output");
}

/// Tied weights have several names; TorchScript's exporter also gives several
/// names to an initializer that it merged from equal ones.
void GraphImporter::noteShared() {
  llvm::MapVector<StringRef, std::string> names;
  for (const auto &[name, alias] : aliases)
    if (trained.contains(name))
      names[name] += " = '" + alias + "'";
  std::vector<std::string> known, shared;
  for (const auto &[name, others] : names)
    known.push_back("'" + name.str() + "'" + others);
  llvm::StringMap<llvm::StringSet<>> readers;
  collectReaders(graph, readers);
  for (const onnx::TensorProto &tensor : graph.initializer())
    if (auto found = readers.find(tensor.name());
        found != readers.end() && found->second.size() > 1 &&
        !names.contains(tensor.name()))
      shared.push_back("'" + tensor.name() + "'");
  if (!known.empty())
    result.notes.push_back(
        "one weight under several names, trained as one: " +
        llvm::join(known, "; ") +
        "; if they are not tied but only start with equal values, export with "
        "training=TrainingMode.TRAINING and do_constant_folding=False");
  if (!shared.empty())
    result.notes.push_back("used in several places, trained as one: " +
                           llvm::join(shared, ", "));
}

/// Adds notes that do not depend on options.
void GraphImporter::noteModel() {
  noteFrozenNorms();
  noteUses();
  noteBodies();
  noteCopies();
  noteNonFinite();
  noteDetached();
}

/// PyTorch's exporter writes `detach()` as an Identity with such a name.
void GraphImporter::noteDetached() {
  static const llvm::Regex isDetach("^node_detach(_[0-9]+)?$");
  std::vector<std::string> names;
  for (const onnx::NodeProto &node : graph.node())
    if (node.op_type() == "Identity" && isDetach.match(node.name()) &&
        !detach.matchAndMark(node.output(0)))
      names.push_back("'" + node.output(0) + "'");
  if (!names.empty())
    result.notes.push_back("gradients flow through values that PyTorch's code "
                           "may detach(), which ONNX does not record: " +
                           llvm::join(names, ", ") +
                           "; use option 'detach'=REGEX to stop them");
}

/// PyTorch's exporter folds one of several tied weights into another
/// initializer.
void GraphImporter::noteCopies() {
  CopyFinder seen;
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    if (!trained.contains(tensor.name()))
      continue;
    auto data = tensors.read(tensor);
    if (!data) {
      llvm::consumeError(data.takeError()); // The error was reported before.
      continue;
    }
    if (auto copy = seen.find(tensor, *data))
      result.notes.push_back(
          "'" + tensor.name() + "' holds '" + copy->original->name() + "'" +
          (copy->isTransposed ? " transposed" : "") +
          ", but is trained separately; if they are one weight of the model, "
          "export it with optimize=False");
    seen.add(tensor, *data);
  }
}

/// The index of the first element that is inf or nan: one whose exponent bits,
/// `mask`, are all set.
template <typename Bits>
static std::optional<size_t> findNonFinite(llvm::ArrayRef<char> bytes,
                                           Bits mask) {
  for (size_t i = 0; i < bytes.size() / sizeof(Bits); ++i) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + i * sizeof(Bits), sizeof(Bits));
    if ((bits & mask) == mask)
      return i;
  }
  return std::nullopt;
}

static std::optional<size_t> findNonFinite(llvm::ArrayRef<char> bytes,
                                           int32_t dataType) {
  switch (dataType) {
  case onnx::TensorProto::FLOAT:
    return findNonFinite<uint32_t>(bytes, 0x7f800000);
  case onnx::TensorProto::DOUBLE:
    return findNonFinite<uint64_t>(bytes, uint64_t(0x7ff) << 52);
  case onnx::TensorProto::FLOAT16:
    return findNonFinite<uint16_t>(bytes, 0x7c00);
  case onnx::TensorProto::BFLOAT16:
    return findNonFinite<uint16_t>(bytes, 0x7f80);
  default:
    return std::nullopt;
  }
}

/// Training cannot recover from a parameter that is not finite.
void GraphImporter::noteNonFinite() {
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    if (!trained.contains(tensor.name()))
      continue;
    auto data = tensors.read(tensor);
    if (!data) {
      llvm::consumeError(data.takeError()); // The error was reported before.
      continue;
    }
    size_t size = dataTypeSize(tensor.data_type());
    auto at = findNonFinite(data->bytes, tensor.data_type());
    if (!at)
      continue;
    TensorBytes element = *data;
    element.bytes = data->bytes.slice(*at * size, size);
    bool isNan = std::isnan(readFloats(element, tensor.data_type()).front());
    llvm::SmallVector<int64_t> index(tensor.dims_size());
    int64_t rest = *at;
    for (int i = tensor.dims_size(); i-- > 0; rest /= tensor.dims(i))
      index[i] = rest % tensor.dims(i);
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "initializer '" << tensor.name() << "' contains "
       << (isNan ? "nan" : "inf") << " at [";
    llvm::interleave(index, os, ",");
    os << "]; training cannot recover from it";
    result.notes.push_back(text);
    return;
  }
}

/// Initializers of a body are created anew in each iteration.
void GraphImporter::noteBodies() {
  if (!bodyWeights.empty())
    result.notes.push_back("not trained, because they belong to the body of a "
                           "Loop, Scan or If: '" +
                           llvm::join(bodyWeights, "', '") +
                           "'; only initializers of the graph are trained");
}

/// Adds notes about initializers that are not trained, though the user did not
/// freeze them.
void GraphImporter::noteUses() {
  static constexpr std::pair<Use, StringLiteral> reasons[] = {
      {Use::Buffer, "not trained, because PyTorch's exporter marked them as "
                    "not being parameters: "},
      {Use::Number, "not trained, because PyTorch's exporter gives such names "
                    "to constants in a model's code: "},
      {Use::Filling, "not trained, because PyTorch's exporter computed them "
                     "from one number: "},
      {Use::Argument,
       "not trained, because exponents and bounds are constants by default: "},
      {Use::ClassWeights,
       "not trained, because they are class weights of a loss: "},
      {Use::Start, "not trained, because they are uniform initial states of "
                   "recurrent ops: "},
      {Use::PositionalTable,
       "not trained, because they hold sines and cosines of positions: "},
      {Use::Mask, "not trained, because they hold only 0 and numbers below "
                  "-1e4, like masks: "}};
  for (const auto &[use, reason] : reasons) {
    std::vector<std::string> names;
    for (const onnx::TensorProto &tensor : graph.initializer())
      if (auto found = uses.find(tensor.name());
          found != uses.end() && found->second == use)
        names.push_back("'" + tensor.name() + "'");
    if (!names.empty())
      result.notes.push_back((reason + llvm::join(names, ", ") +
                              "; use option 'train'=REGEX to train them")
                                 .str());
  }
  noteMissing();
}

/// Adds a note about parameters that are missing in the file. They may be tied
/// or unused, so there is a note only if an initializer was computed from
/// parameters.
void GraphImporter::noteMissing() {
  const std::vector<std::string> &missing = signature.missing();
  bool isComputed =
      llvm::any_of(graph.initializer(), [&](const onnx::TensorProto &tensor) {
        auto use = uses.find(tensor.name());
        bool isData = trained.contains(tensor.name()) ||
                      (use != uses.end() && use->second == Use::Filling);
        return isData && signature.mayHoldParameters(tensor.name());
      });
  if (missing.empty() || !isComputed)
    return;
  constexpr size_t kShown = 5;
  std::string names;
  for (size_t i = 0; i < std::min(kShown, missing.size()); ++i)
    names += (i ? ", '" : "'") + missing[i] + "'";
  if (missing.size() > kShown)
    names += " and " + std::to_string(missing.size() - kShown) + " more";
  result.notes.push_back(
      std::to_string(missing.size()) +
      (missing.size() == 1 ? " parameter of the model is"
                           : " parameters of the model are") +
      " not in the file, because PyTorch's exporter folded them: " + names +
      "; the folded values are trained separately, if at all; export with "
      "optimize=False");
}
