//===- Backward.h - Gradients by way of the op they are of ------*- C++ -*-===//
//
// Nodes that ONNX Runtime's gradient builder writes get the ops that our own
// differentiation would give: the forward op is emitted, differentiated, and
// goes away, for nobody uses it.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_OPS_TRAINING_BACKWARD_H
#define MPC_COMPILER_IMPORT_OPS_TRAINING_BACKWARD_H

#include "compiler/Import/Graph/ImportedNode.h"

namespace mpc {

/// `value` cut off from what it is computed from: what `gradientsOf` goes back
/// to, even where one variable depends on another.
mlir::Value leaf(ImportedNode &node, mlir::Value value);

/// A leaf for a variable; only its shape matters.
mlir::Value leafOf(ImportedNode &node, llvm::ArrayRef<int64_t> shape);

/// The gradient at each of `leaves`, given that at `y`; null after an error.
llvm::SmallVector<mlir::Value> gradientsOf(ImportedNode &node, mlir::Value y,
                                           mlir::Value grad,
                                           llvm::ArrayRef<mlir::Value> leaves);

/// The same of one leaf.
mlir::Value gradientOf(ImportedNode &node, mlir::Value y, mlir::Value grad,
                       mlir::Value leaf);

/// The shape that a list of known integers gives; fails with a message if it is
/// none.
llvm::SmallVector<int64_t> knownShape(ImportedNode &node, unsigned input);

/// The sum of `value` over all dimensions but `kept`.
mlir::Value sumToDim(ImportedNode &node, mlir::Value value, int64_t kept);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_OPS_TRAINING_BACKWARD_H
