//===- LossInputs.h - Inputs that losses add --------------------*- C++ -*-===//
#ifndef MPC_PASSES_GRAD_LOSS_LOSSINPUTS_H
#define MPC_PASSES_GRAD_LOSS_LOSSINPUTS_H

#include "passes/Grad/Loss/ChooseLoss.h"

namespace mpc {

/// The input of the model from which `value` is computed elementwise; null if
/// there is none.
mlir::BlockArgument findInput(mlir::Value value);

/// The location of ops that belong to the loss.
mlir::Location lossLoc(mlir::func::FuncOp func, const LossChoice &choice);

/// The number of samples of a loss of an output, and of a loss whose inputs
/// exist.
int64_t countSamples(mlir::func::FuncOp predict, const LossChoice &choice);
int64_t countSamples(mlir::func::FuncOp func, const Loss &loss);

/// Appends the inputs that losses of outputs need to `func`, a copy of
/// `predict`: what they compare with, and the weights of samples.
llvm::SmallVector<Loss> appendInputs(mlir::func::FuncOp func,
                                     const LossSum &sum);

} // namespace mpc

#endif // MPC_PASSES_GRAD_LOSS_LOSSINPUTS_H
