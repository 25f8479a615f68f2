//===- HoistWeightQuantization.h - Round weights once -----------*- C++ -*-===//
#ifndef MPC_PASSES_PRECISION_HOISTWEIGHTQUANTIZATION_H
#define MPC_PASSES_PRECISION_HOISTWEIGHTQUANTIZATION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/StringRef.h"

namespace mpc {

/// Names of derived states: weights in 8 bit, their scales, and the transposed
/// weights that GPUs read.
inline constexpr llvm::StringLiteral kFp8WeightsState = "fp8.weights";
inline constexpr llvm::StringLiteral kFp8WeightScalesState =
    "fp8.weight_scales";
inline constexpr llvm::StringLiteral kFp8TurnedWeightsState =
    "fp8.turned_weights";

/// If `value` is part of a derived state, returns the value that the entry
/// point `derive` writes there, or null if it writes none; else returns
/// `value`.
mlir::Value derivedFrom(mlir::Value value);

/// Makes `derive` write its values `made` to a new state, and replaces the
/// corresponding `values` in `func` by reads of the parts of this state.
void shareDerived(mlir::func::FuncOp func, mlir::func::FuncOp derive,
                  mlir::ValueRange values, mlir::ValueRange made,
                  llvm::StringRef name);

} // namespace mpc

#endif // MPC_PASSES_PRECISION_HOISTWEIGHTQUANTIZATION_H
