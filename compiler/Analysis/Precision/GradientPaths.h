//===- GradientPaths.h - From a gradient to the pack ------------*- C++ -*-===//
//
// The gradient of a parameter is summed in f32, and the optimizer reads it in
// f32: rounded in between it would lose what master weights are for. What lies
// between is the reverse of what a model does with a weight before it uses it:
// slices of a fused one, the sum over uses of a tied one, factors, transposes.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_ANALYSIS_PRECISION_GRADIENTPATHS_H
#define MPC_COMPILER_ANALYSIS_PRECISION_GRADIENTPATHS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseSet.h"

namespace mpc {

/// The values of `func` that are the gradient of a parameter or a part of one:
///
/// - a value that leads to packs and nowhere else, and on the way no `low` op
///   reads it;
/// - or one does, but all that meets it on its ways is computed from
///   parameters: the gradient of a product of weights, as in LoRA;
/// - or it leads elsewhere too, but is a pack's operand, or would be if it were
///   not moved.
///
/// `ofParameters` are the values computed from parameters and constants alone.
llvm::DenseSet<mlir::Value>
findGradientPaths(mlir::func::FuncOp func,
                  const llvm::DenseSet<mlir::Value> &ofParameters);

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_PRECISION_GRADIENTPATHS_H
