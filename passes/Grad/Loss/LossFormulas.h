//===- LossFormulas.h - Build losses --------------------------------------===//
//
// A loss is one op where the dialect has one, and otherwise a few ops whose
// gradients follow by differentiation.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAD_LOSS_LOSSFORMULAS_H
#define MPC_PASSES_GRAD_LOSS_LOSSFORMULAS_H

#include "passes/Grad/Loss/LossKind.h"

#include "mlir/IR/Builders.h"

namespace mpc {

/// The losses of labels, elements or rows before their mean is taken.
struct LossElements {
  mlir::Value losses;  ///< Times their weights.
  mlir::Value weights; ///< Their weights in the mean; null if all are 1.
};

LossElements buildElements(mlir::OpBuilder &builder, mlir::Location loc,
                           const Loss &loss);

/// The loss as one number: sum(weight loss) / sum(weight).
mlir::Value buildMean(mlir::OpBuilder &builder, mlir::Location loc,
                      const Loss &loss);

/// The sum or the mean of all elements, of rank 0.
mlir::Value sumAll(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value value);
mlir::Value averageAll(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value value);

/// A tensor of `shape` with all elements equal to `number`.
mlir::Value repeatNumber(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Type element, double number,
                         llvm::ArrayRef<int64_t> shape);

/// Repeats one number per sample for the elements of a tensor of `shape`, whose
/// dimension 0 holds one or more rows of each sample.
mlir::Value spreadSamples(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value samples, llvm::ArrayRef<int64_t> shape);

/// Sums everything that belongs to each of `samples`. In language models
/// dimension 0 may hold several rows for each sample.
mlir::Value sumPerSample(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value, int64_t samples);

} // namespace mpc

#endif // MPC_PASSES_GRAD_LOSS_LOSSFORMULAS_H
