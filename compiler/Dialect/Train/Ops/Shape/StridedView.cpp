//===- StridedView.cpp - Tensors that strides describe --------------------===//

#include "compiler/Dialect/Train/Ops/Shape/StridedView.h"

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/IR/Views.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

SmallVector<int64_t> mpc::train::rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

bool StridedView::isAt(ArrayRef<int64_t> shape, int64_t otherOffset,
                       ArrayRef<int64_t> otherStrides) const {
  if (offset != otherOffset || strides.size() != otherStrides.size())
    return false;
  for (auto [extent, stride, other] : llvm::zip(shape, strides, otherStrides))
    if (extent != 1 && stride != other)
      return false;
  return true;
}

namespace {
/// Adjacent dimensions whose elements are at one stride.
struct Run {
  int64_t extent, stride;
};
} // namespace

/// The strides of a tensor of `shape` and `strides` after a reshape to `to`.
static std::optional<SmallVector<int64_t>>
reshapeStrides(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides,
               ArrayRef<int64_t> to) {
  SmallVector<Run> runs;
  for (auto [extent, stride] : llvm::zip(shape, strides)) {
    if (extent == 1)
      continue;
    if (!runs.empty() && runs.back().stride == extent * stride)
      runs.back() = {runs.back().extent * extent, stride};
    else
      runs.push_back({extent, stride});
  }
  SmallVector<int64_t> result(to.size(), 1);
  size_t dim = to.size();
  for (const Run &run : llvm::reverse(runs)) {
    int64_t covered = 1;
    while (covered < run.extent) {
      if (dim-- == 0 || run.extent % (covered * to[dim]) != 0)
        return std::nullopt;
      result[dim] = run.stride * covered;
      covered *= to[dim];
    }
  }
  return result;
}

/// A concatenation along `axis` of views of one source.
static std::optional<StridedView> joinViews(JoinOpInterface op,
                                            ArrayRef<StridedView> parts) {
  size_t axis = op.getJoinAxis();
  StridedView whole = parts.front();
  int64_t begin = shapeOf(op->getOperand(0))[axis];
  // The stride along the axis may be known only by the distance of two parts.
  if (begin == 1 && parts.size() > 1)
    whole.strides[axis] = parts[1].offset - parts[0].offset;
  for (auto [part, operand] :
       llvm::zip(parts.drop_front(), op->getOperands().drop_front())) {
    if (part.source != whole.source ||
        !part.isAt(shapeOf(operand), whole.offset + begin * whole.strides[axis],
                   whole.strides))
      return std::nullopt;
    begin += shapeOf(operand)[axis];
  }
  return whole;
}

std::optional<StridedView> mpc::train::stridedViewOf(
    OpResult result,
    function_ref<std::optional<StridedView>(Value)> operandView) {
  Operation *op = result.getOwner();
  if (!isa<MoveOpInterface>(op) || op->getNumOperands() == 0)
    return std::nullopt;
  SmallVector<StridedView> views;
  for (Value operand : op->getOperands()) {
    std::optional<StridedView> view = operandView(operand);
    if (!view || elementOf(operand) != elementOf(result))
      return std::nullopt;
    views.push_back(std::move(*view));
  }
  StridedView &view = views.front();
  ArrayRef<int64_t> from = shapeOf(op->getOperand(0)), to = shapeOf(result);
  if (auto join = dyn_cast<JoinOpInterface>(op))
    return joinViews(join, views);
  if (isReshape(op)) {
    auto strides = reshapeStrides(from, view.strides, to);
    if (!strides)
      return std::nullopt;
    view.strides = std::move(*strides);
    return view;
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    SmallVector<int64_t> strides;
    for (int64_t dim : transpose.getPermutation())
      strides.push_back(view.strides[dim]);
    view.strides = std::move(strides);
    return view;
  }
  auto split = dyn_cast<SplitOpInterface>(op);
  if (!split)
    return std::nullopt;
  for (auto [begin, stride] :
       llvm::zip(split.getPartOffsets(result.getResultNumber()), view.strides))
    view.offset += begin * stride;
  return view;
}

StridedView mpc::train::stridedViewOf(Value value) {
  auto result = dyn_cast<OpResult>(value);
  if (result && result.getOwner()->getNumOperands() == 1)
    if (auto view = stridedViewOf(result, [](Value operand) {
          return std::optional(stridedViewOf(operand));
        }))
      return *view;
  return {value, 0, rowMajorStrides(shapeOf(value))};
}
