//===- Views.h - Values that share memory -----------------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_VIEWS_H
#define MPC_COMPILER_DIALECT_TRAIN_IR_VIEWS_H

#include "compiler/Dialect/Train/IR/Train.h"

#include <optional>

namespace mpc::train {

/// What a value is a view of, and at which element of it the view begins.
struct View {
  mlir::Value viewed;
  int64_t offset = 0;
};

/// The view that the result of `op` is: by ViewOpInterface, or by a reshape of
/// the tensor dialect, which ops are lowered to. None for any other op, and for
/// null.
std::optional<View> viewOf(mlir::Operation *op);

inline bool isView(mlir::Operation *op) { return viewOf(op).has_value(); }

/// The value whose memory, or part of it, `value` is: all views are looked
/// through.
mlir::Value skipViews(mlir::Value value);

/// Whether `op` has all elements of its operand in their order: under another
/// shape, or as they were. Null has none.
bool isReshape(mlir::Operation *op);

/// The value that `value` is a reshape of: all reshapes are looked through.
mlir::Value skipReshapes(mlir::Value value);

/// Whether `op` has all elements of its operand under another shape or in
/// another order. Null has none.
bool rearranges(mlir::Operation *op);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_VIEWS_H
