//===- Power.h - Powers -----------------------------------------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_OPS_MATH_POWER_H
#define MPC_COMPILER_IMPORT_OPS_MATH_POWER_H

#include "compiler/Import/Graph/ImportedNode.h"

namespace mpc {

/// base^exponent for a known exponent: uses products and a square root if
/// possible, else a logarithm.
mlir::Value emitPower(ImportedNode &node, mlir::Value base, double exponent);

/// The root of a nonnegative number, the square root unless `order` is given.
/// At 0 the gradient is defined as 0, though the root has none: the gradient of
/// x sqrt(x), and PyTorch's of a norm, are 0 there.
mlir::Value emitRoot(ImportedNode &node, mlir::Value sum, double order = 2);

mlir::LogicalResult importPow(ImportedNode &node);
mlir::LogicalResult foldPow(ImportedNode &node);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_OPS_MATH_POWER_H
