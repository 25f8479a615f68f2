//===- LossShapes.h - Where classes, samples and texts stand ----*- C++ -*-===//
//
// What mpc-add-loss reads from shapes: which dimension of an output counts
// classes, which rows of it belong to one sample, and whether a model is one of
// language.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAD_LOSS_LOSSSHAPES_H
#define MPC_PASSES_GRAD_LOSS_LOSSSHAPES_H

#include "passes/Grad/EntryPoints.h"

#include <string>

namespace mpc {

/// The dimension of an output that counts classes.
struct ClassAxis {
  int64_t axis = 1;
  bool fitsInput = false; ///< Labels have the shape of an input of integers.
  std::string why;        ///< To be said; empty where there is no other.
};

/// Chooses the dimension: `asked` (below 0: from the end), if it is not 0; else
/// the one without which the output has the shape of an integer input, the last
/// of several; else 1. Fails, with a diagnostic, if there is no such dimension.
mlir::FailureOr<ClassAxis> findClassAxis(mlir::func::FuncOp predict,
                                         unsigned output, int64_t asked);

/// `value` with all dimensions before `axis` joined to one, so that `axis`
/// becomes dimension 1. Moves nothing.
mlir::Value joinDimsBefore(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value value, int64_t axis);

/// The leading dimensions that `value` had, samples first, before a reshape
/// made one of them: a model of texts counts batch and positions together.
/// Empty if there is no such reshape, or rows mix behind it.
llvm::SmallVector<int64_t> joinedDims(mlir::func::FuncOp func,
                                      mlir::Value value);

/// Labels that a model's own step takes as one list, though each sample has
/// several, are given sample by sample from then on.
void partLabels(mlir::func::FuncOp func, mlir::Value prediction,
                mlir::Value target);

/// "i64[4,8]".
std::string shapeText(mlir::RankedTensorType type);

/// True if there is a label for each token of a text: for each integer of an
/// input of rank 2 or more by which `predict` picks rows of a table. `target`
/// is what the loss takes.
bool labelsTokens(mlir::func::FuncOp predict, mlir::Value target);

} // namespace mpc

#endif // MPC_PASSES_GRAD_LOSS_LOSSSHAPES_H
