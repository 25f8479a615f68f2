//===- Gather.h - Import of Gather on data ----------------------*- C++ -*-===//
//
// Internal to compiler/Import.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_OPS_TENSOR_GATHER_H
#define MPC_COMPILER_IMPORT_OPS_TENSOR_GATHER_H

#include "compiler/Import/Graph/ImportedNode.h"

namespace mpc {

/// Imports a Gather whose inputs are not both known integers: a slice of the
/// data if the indices are known and consecutive, else rows of a table.
mlir::LogicalResult importGatherOfData(ImportedNode &node);

/// Imports com.microsoft's GatherGrad.
mlir::LogicalResult importGatherGrad(ImportedNode &node);

/// The elements of `data` at `indices` along `axis`. Indices lie in [-extent,
/// extent); the runtime checks those that are an input of the model.
mlir::Value gatherAlong(ImportedNode &node, mlir::Value data, int64_t axis,
                        mlir::Value indices);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_OPS_TENSOR_GATHER_H
