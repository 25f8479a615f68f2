//===- DeriveWeights.h - What follows from weights alone --------*- C++ -*-===//
#ifndef MPC_PASSES_PRECISION_DERIVEWEIGHTS_H
#define MPC_PASSES_PRECISION_DERIVEWEIGHTS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/StringRef.h"

namespace mpc {

/// The function that writes states of kind `derived`, and those states: weights
/// in 8 bit, and their scales.
inline constexpr llvm::StringLiteral kDeriveEntry = "derive";
inline constexpr llvm::StringLiteral kFp8WeightsState = "fp8.weights";
inline constexpr llvm::StringLiteral kFp8WeightScalesState =
    "fp8.weight_scales";

/// If `value` is part of a derived state, what @derive puts there, null if it
/// puts nothing there; else `value`.
mlir::Value derivedFrom(mlir::Value value);

} // namespace mpc

#endif // MPC_PASSES_PRECISION_DERIVEWEIGHTS_H
