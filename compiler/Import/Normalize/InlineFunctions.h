//===- InlineFunctions.h - Inlining of functions ----------------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_NORMALIZE_INLINEFUNCTIONS_H
#define MPC_COMPILER_IMPORT_NORMALIZE_INLINEFUNCTIONS_H

#include "compiler/Import/File/ModelError.h"
#include "compiler/Import/File/ModelFile.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"

namespace mpc {

/// Replaces every call of a function of the model, including nested calls, with
/// its nodes, and removes the functions. A node `n` of a call `c` is named
/// `c/n`, and its values likewise. Fails after a diagnostic if functions are
/// recursive, share a name, use another opset in which an op differs, or nest
/// too deeply; fails with Limit if there would be more than `maxNodes` nodes.
ModelError inlineFunctions(onnx::ModelProto &model, int64_t maxNodes,
                           mlir::MLIRContext *context);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_NORMALIZE_INLINEFUNCTIONS_H
