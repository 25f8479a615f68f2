//===- StridedView.h - Tensors that strides describe ------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_OPS_SHAPE_STRIDEDVIEW_H
#define MPC_COMPILER_DIALECT_TRAIN_OPS_SHAPE_STRIDEDVIEW_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mpc::train {

/// Positions at one distance.
struct StridedRun {
  int64_t extent, stride;
  bool operator==(const StridedRun &other) const {
    return extent == other.extent && stride == other.stride;
  }
};

/// The positions along a dimension: those of the last run for each of the run
/// in front of it, and so on. Each extent is more than 1, and no two runs could
/// be one.
using StridedDim = llvm::SmallVector<StridedRun, 2>;

/// Where the elements of a tensor are in the row-major memory of another one:
/// at `offset` plus a position along each dimension.
struct StridedView {
  mlir::Value source;
  int64_t offset = 0;
  llvm::SmallVector<StridedDim> dims;

  StridedView() = default;
  /// A tensor of `shape` with a stride for each dimension.
  StridedView(mlir::Value source, int64_t offset, llvm::ArrayRef<int64_t> shape,
              llvm::ArrayRef<int64_t> strides);
  bool operator==(const StridedView &other) const {
    return source == other.source && offset == other.offset &&
           dims == other.dims;
  }
};

/// `value`, as a view of itself.
StridedView wholeView(mlir::Value value);

/// `result` as a view of the source of its op's operands, whose views
/// `operandView` gives. None if the op computes, converts, or moves elements to
/// places that no strides describe.
std::optional<StridedView> stridedViewOf(
    mlir::OpResult result,
    llvm::function_ref<std::optional<StridedView>(mlir::Value)> operandView);

/// `value` as a view of an earlier tensor: follows the ops that define it back
/// as far as strides describe what they do, but not through concatenations.
StridedView stridedViewOf(mlir::Value value);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_OPS_SHAPE_STRIDEDVIEW_H
