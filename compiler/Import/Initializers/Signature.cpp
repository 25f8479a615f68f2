//===- Signature.cpp - PyTorch's signature of a model ---------------------===//

#include "compiler/Import/Initializers/Signature.h"

#include "compiler/Import/File/NewerFields.h"
#include "compiler/Import/Normalize/NormalizeModel.h"

using namespace llvm;
using namespace mpc;

constexpr StringLiteral kSignature =
    "pkg.torch.export.ExportedProgram.graph_signature";

constexpr StringLiteral kOrigins = "pkg.onnxscript.optimizer.folded_from";

/// `metadata_props` of a GraphProto and of a ValueInfoProto.
constexpr int kMetadata = 16, kValueMetadata = 4;

Signature::Signature(const onnx::ModelProto &model) {
  std::string text;
  for (const auto &entry :
       readNewerField<onnx::StringStringEntryProto>(model.graph(), kMetadata))
    if (entry.key() == kSignature)
      text = entry.value();
  exists = !text.empty();
  if (!exists)
    return;
  StringSet<> initializers;
  for (const onnx::TensorProto &tensor : model.graph().initializer())
    initializers.insert(tensor.name());
  // "p_fc_weight: PARAMETER target='fc.weight'"; other kinds are buffers and
  // tensors of the code.
  SmallVector<StringRef> lines;
  StringSet<> parameters;
  StringRef(text).split(lines, '\n');
  for (StringRef line : lines) {
    auto [kind, rest] = line.split(" target='");
    StringRef target = rest.split('\'').first;
    if (target.empty())
      continue;
    bool isParameter = kind.ends_with(": PARAMETER");
    if (isParameter)
      parameters.insert(target);
    if (initializers.contains(target))
      roles[target] = isParameter ? Role::Parameter : Role::Buffer;
    else if (isParameter)
      missingNames.push_back(target.str());
  }
  readOrigins(model.graph(), parameters);
}

/// Reads the origins of initializers: "['fc.weight', 'mul_3']".
void Signature::readOrigins(const onnx::GraphProto &graph,
                            const StringSet<> &parameters) {
  StringSet<> used;
  for (const onnx::ValueInfoProto &value : graph.value_info())
    for (const auto &entry :
         readNewerField<onnx::StringStringEntryProto>(value, kValueMetadata)) {
      if (entry.key() != kOrigins)
        continue;
      hasOrigins = true;
      SmallVector<StringRef> parts;
      StringRef(entry.value()).split(parts, '\'');
      for (StringRef name : parts)
        if (parameters.contains(name)) {
          derived.insert(value.name());
          used.insert(name);
        }
    }
  if (hasOrigins)
    erase_if(missingNames,
             [&](const std::string &name) { return !used.contains(name); });
}

bool Signature::mayHoldParameters(StringRef initializer) const {
  if (roleOf(initializer) != Role::Computed)
    return false;
  initializer.consume_back(
      kUntiledSuffix); // The suffix of a folded initializer.
  return hasOrigins ? derived.contains(initializer) : !missingNames.empty();
}

Signature::Role Signature::roleOf(StringRef initializer) const {
  if (!exists)
    return Role::Unknown;
  auto found = roles.find(initializer);
  return found == roles.end() ? Role::Computed : found->second;
}
