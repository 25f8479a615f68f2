//===- Signature.cpp - What PyTorch says of initializers ------------------===//

#include "compiler/Import/Signature.h"

#include <google/protobuf/unknown_field_set.h>

using namespace llvm;
using namespace mpc;

constexpr StringLiteral kSignature =
    "pkg.torch.export.ExportedProgram.graph_signature";

/// `metadata_props` of a graph, which older versions of libonnx do not know.
static std::vector<onnx::StringStringEntryProto>
metadataOf(const onnx::GraphProto &graph) {
  constexpr int kField = 16;
  std::vector<onnx::StringStringEntryProto> entries;
  const auto &unknown = graph.GetReflection()->GetUnknownFields(graph);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto &field = unknown.field(i);
    onnx::StringStringEntryProto entry;
    if (field.number() == kField &&
        field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED &&
        entry.ParseFromString(field.length_delimited()))
      entries.push_back(std::move(entry));
  }
  const auto *known = graph.GetDescriptor()->FindFieldByNumber(kField);
  for (int i = 0; known && i < graph.GetReflection()->FieldSize(graph, known);
       ++i) {
    const auto &message =
        graph.GetReflection()->GetRepeatedMessage(graph, known, i);
    entries.push_back(
        static_cast<const onnx::StringStringEntryProto &>(message));
  }
  return entries;
}

Signature::Signature(const onnx::ModelProto &model) {
  std::string text;
  for (const auto &entry : metadataOf(model.graph()))
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
