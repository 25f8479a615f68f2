//===- HoistWeightQuantization.h - Weight-only computations -----*- C++ -*-===//
#ifndef MPC_PASSES_PRECISION_HOISTWEIGHTQUANTIZATION_H
#define MPC_PASSES_PRECISION_HOISTWEIGHTQUANTIZATION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/StringRef.h"

namespace mpc {

/// What derived states are called: weights in 8 bit, their scales, and what
/// GPUs read transposed.
inline constexpr llvm::StringLiteral kFp8WeightsState = "fp8.weights";
inline constexpr llvm::StringLiteral kFp8WeightScalesState =
    "fp8.weight_scales";
inline constexpr llvm::StringLiteral kFp8TurnedWeightsState =
    "fp8.turned_weights";

/// If `value` is part of a derived state, what the entry `derive` puts there,
/// null if it puts nothing there; else `value`.
mlir::Value derivedFrom(mlir::Value value);

/// Lets `derive` write what it has `made` to a new state, and lets what reads
/// `values`, the same in `func`, read its parts.
void shareDerived(mlir::func::FuncOp func, mlir::func::FuncOp derive,
                  mlir::ValueRange values, mlir::ValueRange made,
                  llvm::StringRef name);

} // namespace mpc

#endif // MPC_PASSES_PRECISION_HOISTWEIGHTQUANTIZATION_H
