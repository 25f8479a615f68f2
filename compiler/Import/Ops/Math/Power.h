//===- Power.h - Powers of elements -----------------------------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_OPS_MATH_POWER_H
#define MPC_COMPILER_IMPORT_OPS_MATH_POWER_H

#include "compiler/Import/Graph/ImportedNode.h"

namespace mpc {

/// base^exponent for a number: products and a square root where they do, else
/// by way of a logarithm.
mlir::Value emitPower(ImportedNode &node, mlir::Value base, double exponent);

/// The root of what is not negative, the square root unless `order` is given.
/// Where that is 0 so is the gradient, though the root has none: that of x
/// sqrt(x), and PyTorch's of a norm, are 0.
mlir::Value emitRoot(ImportedNode &node, mlir::Value sum, double order = 2);

mlir::LogicalResult importPow(ImportedNode &node);
mlir::LogicalResult foldPow(ImportedNode &node);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_OPS_MATH_POWER_H
