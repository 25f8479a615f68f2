//===- Index.h - Positions of indexed elements ------------------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_OPS_TENSOR_INDEX_H
#define MPC_COMPILER_IMPORT_OPS_TENSOR_INDEX_H

#include "compiler/Import/Graph/ImportedNode.h"

namespace mpc {

/// The rows of a flat table that indices select.
struct FlatIndex {
  mlir::Value rows;                    ///< i64, of any shape.
  std::optional<KnownTensor> known;    ///< The same, if all are constants.
  int64_t tableRows = 0;               ///< Rows of the table.
  llvm::SmallVector<int64_t> rowShape; ///< Shape of one row.
};

/// Indices of GatherElements and ScatterElements along `axis`: input `input`.
std::optional<FlatIndex> elementIndex(ImportedNode &node,
                                      llvm::ArrayRef<int64_t> data,
                                      int64_t axis, unsigned input = 1);

/// Indices of GatherND and ScatterND: the last dimension holds one for each
/// dimension of `data` after the first `batch`.
std::optional<FlatIndex>
tupleIndex(ImportedNode &node, llvm::ArrayRef<int64_t> data, int64_t batch);

/// For each element of a tensor of this shape, the sum of the updates at its
/// index: the gradient of gatherRows.
mlir::Value addRows(ImportedNode &node, mlir::Value updates,
                    const FlatIndex &index, llvm::ArrayRef<int64_t> shape);

/// The selected elements of `data`, with the shape of the indices followed by
/// that of a row.
mlir::Value gatherRows(ImportedNode &node, mlir::Value data,
                       const FlatIndex &index);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_OPS_TENSOR_INDEX_H
