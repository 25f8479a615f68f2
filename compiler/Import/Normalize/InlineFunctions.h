//===- InlineFunctions.h - Calls of a model's own functions -----*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_NORMALIZE_INLINEFUNCTIONS_H
#define MPC_COMPILER_IMPORT_NORMALIZE_INLINEFUNCTIONS_H

#include "compiler/Import/File/ModelError.h"
#include "compiler/Import/File/ModelFile.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"

namespace mpc {

/// Replaces every call of a function of the model, nested ones too, by its
/// nodes, and removes the functions. A node `n` of a call `c` is called `c/n`,
/// and so are its values. Fails after a diagnostic where functions call each
/// other in a circle, share a name, use another opset in which an op is another
/// one, or nest too deeply, and as a Limit where they would make more than
/// `maxNodes` nodes.
ModelError inlineFunctions(onnx::ModelProto &model, int64_t maxNodes,
                           mlir::MLIRContext *context);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_NORMALIZE_INLINEFUNCTIONS_H
