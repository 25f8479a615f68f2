//===- AttributeNames.cpp - Tensor names in attributes --------------------===//

#include "compiler/Import/Check/AttributeNames.h"

using namespace mpc;

/// Returns true for attributes that contain only names of tensors.
static bool namesTensors(const onnx::NodeProto &node,
                         const onnx::AttributeProto &attribute) {
  const std::string &name = attribute.name();
  return node.op_type() == "Gradient" &&
         node.domain() == "ai.onnx.preview.training" &&
         (name == "xs" || name == "zs" || name == "y");
}

llvm::SmallVector<llvm::StringRef>
mpc::namesInAttributes(const onnx::NodeProto &node) {
  llvm::SmallVector<llvm::StringRef> names;
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (!namesTensors(node, attribute))
      continue;
    names.append(attribute.strings().begin(), attribute.strings().end());
    if (attribute.has_s())
      names.push_back(attribute.s());
  }
  return names;
}

void mpc::renameInAttributes(
    onnx::NodeProto &node, llvm::function_ref<void(std::string &name)> change) {
  for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
    if (!namesTensors(node, attribute))
      continue;
    for (std::string &name : *attribute.mutable_strings())
      change(name);
    if (attribute.has_s())
      change(*attribute.mutable_s());
  }
}

void mpc::forEachRead(const onnx::NodeProto &node,
                      llvm::function_ref<void(llvm::StringRef)> visit) {
  for (const std::string &name : node.input())
    visit(name);
  for (llvm::StringRef name : namesInAttributes(node))
    visit(name);
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    for (const onnx::NodeProto &inner : attribute.g().node())
      forEachRead(inner, visit);
    for (const onnx::ValueInfoProto &output : attribute.g().output())
      visit(output.name());
  }
}
