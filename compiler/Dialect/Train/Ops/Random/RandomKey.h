//===- RandomKey.h - What random numbers depend on --------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_OPS_RANDOM_RANDOMKEY_H
#define MPC_COMPILER_DIALECT_TRAIN_OPS_RANDOM_RANDOMKEY_H

#include "mlir/IR/PatternMatch.h"

namespace mpc::train {

/// The seed and the number of the step, i64 of rank 0.
struct RandomKey {
  mlir::Value seed, step;
};

/// Reads the states with these roles in front of `op`; creates those, with
/// value 0, that the module does not have.
RandomKey readRandomKey(mlir::RewriterBase &rewriter, mlir::Operation *op);

/// Whether this is the ratio of a dropout, in [0, 1). False for NaN.
bool isDropoutRatio(const llvm::APFloat &ratio);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_OPS_RANDOM_RANDOMKEY_H
