//===- AttributeNames.h - Tensor names in attributes ------------*- C++ -*-===//
//
// Internal to compiler/Import. `Gradient` names tensors of the graph in its
// attributes `xs`, `zs` and `y`. These are uses in addition to inputs.
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

/// Calls `change` with each of these names.
void renameInAttributes(onnx::NodeProto &node,
                        llvm::function_ref<void(std::string &name)> change);

/// Calls `visit` with all names that a node reads, including its subgraphs, and
/// possibly with names that are defined in these.
void forEachRead(const onnx::NodeProto &node,
                 llvm::function_ref<void(llvm::StringRef name)> visit);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_CHECK_ATTRIBUTENAMES_H
