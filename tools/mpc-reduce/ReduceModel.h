//===- ReduceModel.h - Shrink an ONNX model that shows a bug ----*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_REDUCE_REDUCEMODEL_H
#define MPC_TOOLS_MPC_REDUCE_REDUCEMODEL_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mpc {

/// Removes outputs, nodes and what only they need from the model in `path`
/// while `test` still shows the bug, and writes the result to `outPath`. `test`
/// is a program that takes the path of a model and must exit with 1 if the
/// model shows the bug and with 0 if not. Reports progress on stderr.
llvm::Error reduceModel(llvm::StringRef path, llvm::StringRef test,
                        llvm::StringRef outPath);

} // namespace mpc

#endif // MPC_TOOLS_MPC_REDUCE_REDUCEMODEL_H
