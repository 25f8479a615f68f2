//===- Gather.h - Import of Gather on data ----------------------*- C++ -*-===//
//
// Internal to compiler/Import.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_OPS_GATHER_H
#define MPC_COMPILER_IMPORT_OPS_GATHER_H

#include "compiler/Import/ImportedNode.h"

namespace mpc {

/// Imports a Gather whose inputs are not both known integers: a part of the
/// data where the indices are known and consecutive, else rows of a table.
mlir::LogicalResult importGatherOfData(ImportedNode &node);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_OPS_GATHER_H
