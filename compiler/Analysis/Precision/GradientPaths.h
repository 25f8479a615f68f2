//===- GradientPaths.h - Paths from gradients to packs ----------*- C++ -*-===//
//
// The gradient of a parameter is summed in f32, and the optimizer reads it in
// f32: rounding in between would defeat the purpose of master weights. The ops
// in between are the reverse of what a model does with a weight before it uses
// it: slices of a fused weight, the sum over the uses of a tied weight,
// factors, transposes.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_ANALYSIS_PRECISION_GRADIENTPATHS_H
#define MPC_COMPILER_ANALYSIS_PRECISION_GRADIENTPATHS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseSet.h"

namespace mpc {

/// The values of `func` that are gradients of parameters, or parts of them:
///
/// - values that only lead to packs, without a `low` op on the way;
/// - values that only lead to packs through `low` ops whose other operands are
///   computed from parameters: the gradient of a product of weights, as in
///   LoRA;
/// - values that lead elsewhere, too, but are operands of a pack, directly or
///   through ops that only move elements.
///
/// `ofParameters` are the values computed only from parameters and constants.
llvm::DenseSet<mlir::Value>
findGradientPaths(mlir::func::FuncOp func,
                  const llvm::DenseSet<mlir::Value> &ofParameters);

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_PRECISION_GRADIENTPATHS_H
