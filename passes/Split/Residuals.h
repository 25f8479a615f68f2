//===- Residuals.h - What a backward pass needs from before ------*- C++
//-*-===//
#ifndef MPC_PASSES_SPLIT_RESIDUALS_H
#define MPC_PASSES_SPLIT_RESIDUALS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace mpc {

/// How a step that takes the gradients of its outputs falls into two halves.
struct Halves {
  /// Everything that depends on those gradients.
  llvm::DenseSet<mlir::Value> ofGradients;
  /// The values of the forward pass from which, with states and constants, the
  /// backward pass can be computed; in the order in which they were found.
  llvm::SetVector<mlir::Value> residuals;
};

/// `step` is a function whose arguments and results that are gradients are
/// marked `mpc.gradient_of`.
Halves findHalves(mlir::func::FuncOp step);

} // namespace mpc

#endif // MPC_PASSES_SPLIT_RESIDUALS_H
