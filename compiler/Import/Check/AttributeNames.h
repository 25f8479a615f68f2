//===- AttributeNames.h - Tensors that attributes name ----------*- C++ -*-===//
//
// Internal to compiler/Import. `Gradient` names tensors of the graph in its
// attributes `xs`, `zs` and `y`: uses beside those of inputs.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_CHECK_ATTRIBUTENAMES_H
#define MPC_COMPILER_IMPORT_CHECK_ATTRIBUTENAMES_H

#include "compiler/Import/File/ModelFile.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace mpc {

llvm::SmallVector<llvm::StringRef>
namesInAttributes(const onnx::NodeProto &node);

/// Calls `change` with each of them.
void renameInAttributes(onnx::NodeProto &node,
                        llvm::function_ref<void(std::string &name)> change);

/// Calls `visit` with all names that a node reads; of its subgraphs, perhaps
/// some of their own.
void forEachRead(const onnx::NodeProto &node,
                 llvm::function_ref<void(llvm::StringRef name)> visit);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_CHECK_ATTRIBUTENAMES_H
