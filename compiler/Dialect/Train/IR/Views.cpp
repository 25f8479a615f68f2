//===- Views.cpp - Values that share memory -------------------------------===//

#include "compiler/Dialect/Train/IR/Views.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

std::optional<View> mpc::train::viewOf(Operation *op) {
  if (auto view = dyn_cast_if_present<ViewOpInterface>(op))
    return View{view.getViewed(), view.getViewOffset()};
  if (isa_and_present<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
    return View{op->getOperand(0)};
  return std::nullopt;
}

Value mpc::train::skipViews(Value value) {
  while (std::optional<View> view = viewOf(value.getDefiningOp()))
    value = view->viewed;
  return value;
}

/// `op` as an op that moves elements; null if it is none.
static MoveOpInterface moveOf(Operation *op) {
  return dyn_cast_if_present<MoveOpInterface>(op);
}

bool mpc::train::isReshape(Operation *op) {
  return moveOf(op) && isa<ViewOpInterface>(op);
}

Value mpc::train::skipReshapes(Value value) {
  while (isReshape(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

bool mpc::train::rearranges(Operation *op) {
  MoveOpInterface move = moveOf(op);
  return move && (isReshape(op) || move.getMove() == Move::Permuted);
}
