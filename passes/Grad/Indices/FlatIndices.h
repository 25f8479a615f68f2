//===- FlatIndices.h - Flattened multi-dimensional indices ------*- C++ -*-===//
//
// PyTorch's TorchScript exporter writes x[i, y], for x of shape [N, C], as row
// i * C + y of x reshaped to [N * C]. Such a row may exist although y is not a
// column of x, so the limits of y are derived from the terms of the index.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAD_INDICES_FLATINDICES_H
#define MPC_PASSES_GRAD_INDICES_FLATINDICES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace mpc {

/// The terms of all flattened indices of a function, except constant terms.
class FlatIndices {
public:
  explicit FlatIndices(mlir::func::FuncOp func);

  /// If `use` is such a term, the extent of the dimension that it indexes,
  /// which it must lie in: [0, extent).
  std::optional<int64_t> extentOf(mlir::OpOperand &use) const {
    auto found = extents.find(&use);
    if (found == extents.end())
      return std::nullopt;
    return found->second;
  }

  /// Whether `use` takes a flattened index.
  bool isFlat(mlir::OpOperand &use) const { return wholes.contains(&use); }

private:
  void visit(mlir::Value table, mlir::OpOperand &indices);

  llvm::DenseMap<mlir::OpOperand *, int64_t> extents;
  llvm::DenseSet<mlir::OpOperand *> wholes;
};

} // namespace mpc

#endif // MPC_PASSES_GRAD_INDICES_FLATINDICES_H
