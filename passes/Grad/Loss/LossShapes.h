//===- LossShapes.h - Class axes, samples and tokens ------------*- C++ -*-===//
//
// What mpc-add-loss derives from shapes: which dimension of an output counts
// classes, which of its rows belong to one sample, and whether the model is a
// language model.
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
  std::string why;        ///< For the note; empty if there is no choice.
};

/// Chooses the dimension: `asked` (negative: from the end), if it is not 0;
/// else the last one without which the output has the shape of an integer
/// input; else 1. Fails, with a diagnostic, if there is no such dimension.
mlir::FailureOr<ClassAxis> findClassAxis(mlir::func::FuncOp predict,
                                         unsigned output, int64_t asked);

/// `value` with all dimensions before `axis` collapsed into one, so that `axis`
/// becomes dimension 1. Moves no data.
mlir::Value joinDimsBefore(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value value, int64_t axis);

/// The leading dimensions, samples first, that a reshape collapsed into
/// dimension 0 of `value`: language models combine batch and positions. Empty
/// if there is no such reshape, or if later ops mix rows.
llvm::SmallVector<int64_t> mergedDims(mlir::func::FuncOp func,
                                      mlir::Value value);

/// If a model's own step takes the labels as one list although each sample has
/// several, changes the input to have the labels of each sample in a row.
void splitLabelsBySample(mlir::func::FuncOp func, mlir::Value prediction,
                         mlir::Value target);

/// "i64[4,8]".
std::string shapeText(mlir::RankedTensorType type);

/// True if there is one label for each token of a text, that is, for each
/// element of an integer input of rank 2 or more that `predict` uses as indices
/// into a table. `target` is the target of the loss.
bool hasLabelPerToken(mlir::func::FuncOp predict, mlir::Value target);

} // namespace mpc

#endif // MPC_PASSES_GRAD_LOSS_LOSSSHAPES_H
