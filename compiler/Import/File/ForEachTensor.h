//===- ForEachTensor.h - All tensors of a file ------------------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_FILE_FOREACHTENSOR_H
#define MPC_COMPILER_IMPORT_FILE_FOREACHTENSOR_H

#include "compiler/Import/File/ModelFile.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace mpc {

/// Calls `visit` with every dense tensor of the model: initializers and
/// attributes, including those of subgraphs and functions. Stops at the first
/// error.
llvm::Error
forEachTensor(onnx::ModelProto &model,
              llvm::function_ref<llvm::Error(onnx::TensorProto &)> visit);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_FILE_FOREACHTENSOR_H
