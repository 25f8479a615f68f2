//===- FlatIndices.h - Indices that a model flattens itself -----*- C++ -*-===//
//
// PyTorch's TorchScript exporter writes x[i, y], of an x of [N, C], as row
// i * C + y of x under the shape [N * C]. The row exists for many a y that is
// no column of x: what is meant by y shows in how the index is put together.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAD_FLATINDICES_H
#define MPC_PASSES_GRAD_FLATINDICES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace mpc {

/// The parts of all such indices of a function, but for constant ones.
class FlatIndices {
public:
  explicit FlatIndices(mlir::func::FuncOp func);

  /// The extent that `use` counts along, from 0 on, if it is such a part.
  std::optional<int64_t> extentOf(mlir::OpOperand &use) const {
    auto found = extents.find(&use);
    if (found == extents.end())
      return std::nullopt;
    return found->second;
  }

  /// Whether `use` takes such an index, put together.
  bool isFlat(mlir::OpOperand &use) const { return wholes.contains(&use); }

private:
  void visit(mlir::Value table, mlir::OpOperand &indices);

  llvm::DenseMap<mlir::OpOperand *, int64_t> extents;
  llvm::DenseSet<mlir::OpOperand *> wholes;
};

} // namespace mpc

#endif // MPC_PASSES_GRAD_FLATINDICES_H
