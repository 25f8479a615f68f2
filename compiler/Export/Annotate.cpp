//===- Annotate.cpp - Notes at nodes of an ONNX file ----------------------===//
//
// The libonnx of current distributions does not know the field of nodes, so it
// is written as an unknown field.
//
//===----------------------------------------------------------------------===//

#include "compiler/Export/Annotate.h"

#include "compiler/Export/Export.h"
#include "compiler/Export/WriteModel.h"
#include "compiler/Import/File/NewerFields.h"

#include <new>

using namespace llvm;
using namespace mpc;
using onnx::StringStringEntryProto;

/// `metadata_props` of a NodeProto.
static constexpr int kNodeMetadata = 9;

static bool isOurs(const StringStringEntryProto &entry) {
  return StringRef(entry.key()).starts_with("mpc.");
}

/// The existing notes that are kept, followed by the new ones.
static std::vector<StringStringEntryProto>
mergeNotes(std::vector<StringStringEntryProto> entries, const Notes &notes) {
  erase_if(entries, isOurs);
  for (const auto &[key, value] : notes) {
    entries.emplace_back();
    entries.back().set_key(key);
    entries.back().set_value(value);
  }
  return entries;
}

static void annotate(onnx::NodeProto &node, const Notes &notes) {
  auto entries = mergeNotes(
      readNewerField<StringStringEntryProto>(node, kNodeMetadata), notes);
  const google::protobuf::Reflection &reflection = *node.GetReflection();
  const auto *field = node.GetDescriptor()->FindFieldByNumber(kNodeMetadata);
  if (field)
    reflection.ClearField(&node, field);
  auto &unknown = *reflection.MutableUnknownFields(&node);
  unknown.DeleteByNumber(kNodeMetadata);
  for (const StringStringEntryProto &entry : entries)
    if (field)
      reflection.AddMessage(&node, field)->CopyFrom(entry);
    else
      unknown.AddLengthDelimited(kNodeMetadata, entry.SerializeAsString());
}

static void annotate(onnx::ModelProto &model, const Notes &notes) {
  std::vector<StringStringEntryProto> entries(model.metadata_props().begin(),
                                              model.metadata_props().end());
  model.clear_metadata_props();
  for (StringStringEntryProto &entry : mergeNotes(std::move(entries), notes))
    *model.add_metadata_props() = std::move(entry);
}

Expected<size_t> mpc::annotateModel(StringRef originalPath,
                                    const Annotations &annotations,
                                    StringRef outPath) {
  // Protobuf and the standard library throw when memory is exhausted.
  try {
    Expected<std::shared_ptr<ModelFile>> model = readModelFile(originalPath);
    if (!model)
      return model.takeError();
    onnx::ModelProto &proto = (*model)->proto;
    annotate(proto, annotations.model);
    size_t annotated = 0;
    for (onnx::NodeProto &node : *proto.mutable_graph()->mutable_node()) {
      std::string name = node.name();
      if (name.empty() && node.output_size() > 0)
        name = node.output(0);
      auto found = annotations.nodes.find(name);
      annotate(node,
               found == annotations.nodes.end() ? Notes() : found->second);
      annotated += found != annotations.nodes.end();
    }
    if (Error error = inlineExternalData(*model))
      return error;
    if (Error error =
            writeModel(proto, outPath, ExportOptions().maxInlineBytes))
      return error;
    return annotated;
  } catch (const std::bad_alloc &) {
    return makeModelError(ModelError::Limit, "out of memory");
  }
}
