//===- Signature.cpp - What PyTorch says of initializers ------------------===//

#include "compiler/Import/Signature.h"

#include "compiler/Import/NewerFields.h"

using namespace llvm;
using namespace mpc;

constexpr StringLiteral kSignature =
    "pkg.torch.export.ExportedProgram.graph_signature";

/// `metadata_props` of a GraphProto.
constexpr int kMetadata = 16;

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
  // "p_fc_weight: PARAMETER target='fc.weight'"; others are buffers, and
  // tensors of the code.
  SmallVector<StringRef> lines;
  StringRef(text).split(lines, '\n');
  for (StringRef line : lines) {
    auto [kind, rest] = line.split(" target='");
    StringRef target = rest.split('\'').first;
    if (target.empty())
      continue;
    bool isParameter = kind.ends_with(": PARAMETER");
    if (initializers.contains(target))
      roles[target] = isParameter ? Role::Parameter : Role::Buffer;
    else if (isParameter)
      missingNames.push_back(target.str());
  }
}

Signature::Role Signature::roleOf(StringRef initializer) const {
  if (!exists)
    return Role::Unknown;
  auto found = roles.find(initializer);
  return found == roles.end() ? Role::Computed : found->second;
}
