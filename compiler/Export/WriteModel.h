//===- WriteModel.h - An ONNX model and its data into files -----*- C++ -*-===//
#ifndef MPC_COMPILER_EXPORT_WRITEMODEL_H
#define MPC_COMPILER_EXPORT_WRITEMODEL_H

#include "compiler/Import/File/ModelFile.h"

namespace mpc {

/// Replaces whatever data `tensor` has, or names, by `raw`.
void setRaw(onnx::TensorProto &tensor, std::string raw);

/// Brings external data in: the files it lies in stay with the old model.
llvm::Error inlineExternalData(const std::shared_ptr<ModelFile> &model);

/// Writes a model without external data; above `maxInlineBytes` its tensors go
/// to `<outPath>.data`, which it will name. Both appear whole or not at all.
llvm::Error writeModel(onnx::ModelProto &proto, llvm::StringRef outPath,
                       uint64_t maxInlineBytes);

} // namespace mpc

#endif // MPC_COMPILER_EXPORT_WRITEMODEL_H
