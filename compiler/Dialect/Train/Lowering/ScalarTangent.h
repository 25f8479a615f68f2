//===- ScalarTangent.h - Derivatives of formulas ----------------*- C++ -*-===//
//
// For sources of this folder only.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_LOWERING_SCALARTANGENT_H
#define MPC_COMPILER_DIALECT_TRAIN_LOWERING_SCALARTANGENT_H

#include "compiler/Dialect/Train/Lowering/ScalarMath.h"

namespace mpc::train {

/// Emits the derivative of order `times` with respect to `x` of `formula`,
/// which was built with `ScalarMath`, by forward mode, op by op. Choices
/// (comparisons, floors, signs) count as constant, so it is the derivative of
/// the branch taken.
mlir::Value tangentOf(ScalarMath &math, mlir::Value formula, mlir::Value x,
                      int64_t times);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_LOWERING_SCALARTANGENT_H
