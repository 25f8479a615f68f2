//===- GraphNotes.cpp - What an import says aloud -------------------------===//

#include "compiler/Import/Contents.h"
#include "compiler/Import/GraphImporter.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;

/// Says so where `--batchnorm` has nothing to decide.
void GraphImporter::noteNorms() {
  bool isGiven = options.batchNorm != ImportOptions::BatchNorm::Auto;
  if (isGiven && numNorms == 0)
    result.notes.push_back("--batchnorm changes nothing: the model has no "
                           "BatchNormalization");
}

/// Says which norms are frozen, unless the user said it.
void GraphImporter::noteFrozenNorms() {
  auto add = [&](unsigned count, StringRef why) {
    if (count > 0)
      result.notes.push_back(
          (Twine(count) + " of " + Twine(numNorms) +
           " BatchNormalization nodes keep their running statistics and "
           "normalize by them, for " +
           why + "; --batchnorm=train says otherwise")
              .str());
  };
  add(numFrozenNorms, "--freeze matches these, or scale and bias");
  add(numEvalNorms, "the model has them in eval form, and others in training "
                    "form");
}

void GraphImporter::noteDecisions() {
  noteNorms();
  // Exporters do so with initializers that merely have equal values.
  for (const auto &[name, alias] : aliases)
    if (stateReads.contains(name) && !freeze.match(name))
      result.notes.push_back("initializer '" + name + "' also goes by '" +
                             alias + "': both are trained as one");
  std::vector<std::string> shared;
  for (const onnx::TensorProto &tensor : graph.initializer())
    if (trained.contains(tensor.name()) && used.lookup(tensor.name()) > 1)
      shared.push_back("'" + tensor.name() + "'");
  if (!shared.empty())
    result.notes.push_back("used in several places, and trained as one: " +
                           llvm::join(shared, ", "));
  noteModel();
  if (numWidened > 0)
    result.notes.push_back(std::to_string(numWidened) +
                           " initializers of 16-bit floats are imported as " +
                           (floatType.isF64() ? "f64" : "f32"));
}

/// What the model shows, whatever the options are.
void GraphImporter::noteModel() {
  noteFrozenNorms();
  noteUses();
  noteBodies();
  noteCopies();
  noteDetached();
}

/// PyTorch's exporter writes `detach()` as an Identity of such a name.
void GraphImporter::noteDetached() {
  static const llvm::Regex isDetach("^node_detach(_[0-9]+)?$");
  std::vector<std::string> names;
  for (const onnx::NodeProto &node : graph.node())
    if (node.op_type() == "Identity" && isDetach.match(node.name()) &&
        !detach.match(node.output(0)))
      names.push_back("'" + node.output(0) + "'");
  if (!names.empty())
    result.notes.push_back(
        "gradients flow back through what PyTorch's detach() stood for, of "
        "which ONNX knows nothing: " +
        llvm::join(names, ", ") + "; --detach=REGEX stops them");
}

/// Of tied weights PyTorch's exporter folds one into another initializer.
void GraphImporter::noteCopies() {
  SmallVector<std::pair<const onnx::TensorProto *, TensorBytes>> seen;
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    if (!trained.contains(tensor.name()))
      continue;
    auto data = tensors.read(tensor);
    if (!data) {
      llvm::consumeError(data.takeError()); // It was read before.
      continue;
    }
    for (const auto &[other, otherData] : seen)
      if (auto how = findCopy(tensor, *data, *other, otherData)) {
        result.notes.push_back(
            "'" + tensor.name() + "' holds '" + other->name() + "'" +
            how->str() +
            ", but is trained apart from it; if they are one "
            "weight of the model, export it with optimize=False");
        break;
      }
    seen.emplace_back(&tensor, *data);
  }
}

/// What a body holds is made anew for each trip.
void GraphImporter::noteBodies() {
  if (!bodyWeights.empty())
    result.notes.push_back(
        "not trained, for they belong to the body of a Loop, Scan or If: '" +
        llvm::join(bodyWeights, "', '") +
        "'; initializers of the graph are trained");
}

/// Says which initializers are not trained, though nobody froze them.
void GraphImporter::noteUses() {
  static constexpr std::pair<Use, StringLiteral> reasons[] = {
      {Use::Buffer, "not trained, for PyTorch's exporter says they are no "
                    "parameters: "},
      {Use::Number, "not trained, for PyTorch's exporter gives such names to "
                    "the numbers of a model's code: "},
      {Use::Filling,
       "not trained, for PyTorch's exporter computed them, of one "
       "number: "},
      {Use::Argument,
       "not trained, for exponents and bounds are numbers unless "
       "said otherwise: "},
      {Use::Start,
       "not trained, for recurrent ops start from them, and they hold one "
       "number: "},
      {Use::Sines,
       "not trained, for they hold sines and cosines of positions: "},
      {Use::Mask, "not trained, for they hold 0 and numbers below -1e4 alone, "
                  "as masks do: "}};
  for (const auto &[use, reason] : reasons) {
    std::vector<std::string> names;
    for (const onnx::TensorProto &tensor : graph.initializer())
      if (auto found = uses.find(tensor.name());
          found != uses.end() && found->second == use)
        names.push_back("'" + tensor.name() + "'");
    if (!names.empty())
      result.notes.push_back(
          (reason + llvm::join(names, ", ") + "; --train=REGEX says otherwise")
              .str());
  }
  const std::vector<std::string> &missing = signature.missing();
  if (missing.empty())
    return;
  constexpr size_t kShown = 5;
  std::string names;
  for (size_t i = 0; i < std::min(kShown, missing.size()); ++i)
    names += (i ? ", '" : "'") + missing[i] + "'";
  if (missing.size() > kShown)
    names += " and " + std::to_string(missing.size() - kShown) + " more";
  result.notes.push_back(
      std::to_string(missing.size()) +
      " parameters of the model are not in the file, for PyTorch's exporter "
      "computed with them: " +
      names +
      "; what it made of them is trained by itself, if at all; export with "
      "optimize=False");
}
