//===- Backward.h - Gradients by the forward op -----------------*- C++ -*-===//
//
// Nodes that ONNX Runtime's gradient builder writes are imported as the ops
// that mpc's differentiation creates: the forward op is emitted and
// differentiated, and is removed later because it is unused.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_OPS_TRAINING_BACKWARD_H
#define MPC_COMPILER_IMPORT_OPS_TRAINING_BACKWARD_H

#include "compiler/Import/Graph/ImportedNode.h"

namespace mpc {

/// `value`, detached from the ops that compute it: `gradientsOf` stops there,
/// even if one variable depends on another.
mlir::Value leaf(ImportedNode &node, mlir::Value value);

/// A leaf for a variable; only its shape matters.
mlir::Value leafOf(ImportedNode &node, llvm::ArrayRef<int64_t> shape);

/// The gradient at each of `leaves`, given that at `y`; null after an error.
llvm::SmallVector<mlir::Value> gradientsOf(ImportedNode &node, mlir::Value y,
                                           mlir::Value grad,
                                           llvm::ArrayRef<mlir::Value> leaves);

/// The same for one leaf.
mlir::Value gradientOf(ImportedNode &node, mlir::Value y, mlir::Value grad,
                       mlir::Value leaf);

/// The shape given by a list of known integers; fails with a message if it is
/// not a valid shape.
llvm::SmallVector<int64_t> knownShape(ImportedNode &node, unsigned input);

/// The sum of `value` over all dimensions except `kept`.
mlir::Value sumToDim(ImportedNode &node, mlir::Value value, int64_t kept);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_OPS_TRAINING_BACKWARD_H
