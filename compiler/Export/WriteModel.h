//===- WriteModel.h - Writing an ONNX model and its data --------*- C++ -*-===//
#ifndef MPC_COMPILER_EXPORT_WRITEMODEL_H
#define MPC_COMPILER_EXPORT_WRITEMODEL_H

#include "compiler/Import/File/ModelFile.h"

namespace mpc {

/// Replaces the data of `tensor`, embedded or external, with `raw`.
void setRaw(onnx::TensorProto &tensor, std::string raw);

/// Inlines external data, because its files belong to the original model.
llvm::Error inlineExternalData(const std::shared_ptr<ModelFile> &model);

/// Writes a model that has no external data; above `maxInlineBytes` its tensors
/// go to `<outPath>.data`, which it then references. Each file is written
/// completely or not at all.
llvm::Error writeModel(onnx::ModelProto &proto, llvm::StringRef outPath,
                       uint64_t maxInlineBytes);

} // namespace mpc

#endif // MPC_COMPILER_EXPORT_WRITEMODEL_H
