//===- Power.h - Powers of elements -----------------------------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_OPS_POWER_H
#define MPC_COMPILER_IMPORT_OPS_POWER_H

#include "compiler/Import/ImportedNode.h"

namespace mpc {

/// base^exponent for a number: products and a square root where they do, else
/// by way of a logarithm.
mlir::Value emitPower(ImportedNode &node, mlir::Value base, double exponent);

/// The same for tensors that broadcast.
mlir::Value emitPower(ImportedNode &node, mlir::Value base,
                      mlir::Value exponent);

mlir::LogicalResult importPow(ImportedNode &node);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_OPS_POWER_H
