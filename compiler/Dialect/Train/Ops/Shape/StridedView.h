//===- StridedView.h - Tensors that strides describe ------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_OPS_SHAPE_STRIDEDVIEW_H
#define MPC_COMPILER_DIALECT_TRAIN_OPS_SHAPE_STRIDEDVIEW_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mpc::train {

/// Where the elements of a tensor are in the row-major memory of another one:
/// the element with indices i at `offset` plus the sum of i[d] `strides[d]`.
/// The stride of a dimension of extent 1 means nothing.
struct StridedView {
  mlir::Value source;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;

  /// Whether the view, of `shape`, is at these places.
  bool isAt(llvm::ArrayRef<int64_t> shape, int64_t otherOffset,
            llvm::ArrayRef<int64_t> otherStrides) const;
};

/// The strides of a tensor in its own memory.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// `result` as a view of the source of its op's operands, whose views
/// `operandView` gives. None if the op computes, converts, or moves elements to
/// places that no strides describe.
std::optional<StridedView> stridedViewOf(
    mlir::OpResult result,
    llvm::function_ref<std::optional<StridedView>(mlir::Value)> operandView);

/// `value` as a view of the first source that is itself no part of another
/// tensor; of itself if no strides describe it otherwise. Does not look through
/// concatenations.
StridedView stridedViewOf(mlir::Value value);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_OPS_SHAPE_STRIDEDVIEW_H
