//===- Views.h - Values that share memory -----------------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_VIEWS_H
#define MPC_COMPILER_DIALECT_TRAIN_IR_VIEWS_H

#include "compiler/Dialect/Train/IR/Train.h"

#include <optional>

namespace mpc::train {

/// The value that another one is a view of, and the element where the view
/// begins.
struct View {
  mlir::Value viewed;
  int64_t offset = 0;
};

/// The view that `op` creates: an op with ViewOpInterface, or a reshape of the
/// tensor dialect, which ops are lowered to. None for any other op, and for
/// null.
std::optional<View> viewOf(mlir::Operation *op);

inline bool isView(mlir::Operation *op) { return viewOf(op).has_value(); }

/// Looks through all views: returns the value whose memory `value` is, or is
/// part of.
mlir::Value skipViews(mlir::Value value);

/// Returns true if the result of `op` has all elements of its operand in their
/// order, in any shape. False for null.
bool isReshape(mlir::Operation *op);

/// Looks through all reshapes: returns the value that `value` is a reshape of.
mlir::Value skipReshapes(mlir::Value value);

/// Returns true if the result of `op` has all elements of its operand in
/// another shape or order. False for null.
bool rearranges(mlir::Operation *op);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_VIEWS_H
