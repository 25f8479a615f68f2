//===- Readers.h - Ops that read a value ------------------------*- C++ -*-===//
#ifndef MPC_PASSES_FUSION_KERNELS_READERS_H
#define MPC_PASSES_FUSION_KERNELS_READERS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mpc {

/// The ops that read the memory of `value`, directly or through views, once for
/// each operand.
inline llvm::SmallVector<mlir::linalg::GenericOp>
findReaders(mlir::Value value) {
  llvm::SmallVector<mlir::linalg::GenericOp> readers;
  llvm::SmallVector<mlir::Value> work = {value};
  while (!work.empty())
    for (mlir::Operation *user : work.pop_back_val().getUsers()) {
      if (auto generic = llvm::dyn_cast<mlir::linalg::GenericOp>(user))
        readers.push_back(generic);
      else if (llvm::isa<mlir::tensor::CollapseShapeOp,
                         mlir::tensor::ExpandShapeOp>(user))
        work.push_back(user->getResult(0));
    }
  return readers;
}

} // namespace mpc

#endif // MPC_PASSES_FUSION_KERNELS_READERS_H
