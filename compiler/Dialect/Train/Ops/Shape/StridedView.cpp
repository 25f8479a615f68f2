//===- StridedView.cpp - Tensors that strides describe --------------------===//

#include "compiler/Dialect/Train/Ops/Shape/StridedView.h"

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/IR/Views.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

/// Adds a run inside those of `dim`.
static void append(StridedDim &dim, StridedRun run) {
  if (run.extent == 1)
    return;
  if (!dim.empty() && dim.back().stride == run.extent * run.stride)
    dim.back() = {dim.back().extent * run.extent, run.stride};
  else
    dim.push_back(run);
}

StridedView::StridedView(Value source, int64_t offset, ArrayRef<int64_t> shape,
                         ArrayRef<int64_t> strides)
    : source(source), offset(offset), dims(shape.size()) {
  for (auto [dim, extent, stride] : llvm::zip(dims, shape, strides))
    append(dim, {extent, stride});
}

StridedView mpc::train::wholeView(Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    strides[i] = stride;
  return {value, 0, shape, strides};
}

/// Takes the innermost positions, `extent` in number, away from `runs`.
static std::optional<StridedDim> takeInner(StridedDim &runs, int64_t extent) {
  SmallVector<StridedRun> taken;
  while (extent > 1) {
    if (runs.empty())
      return std::nullopt;
    StridedRun &inner = runs.back();
    if (extent % inner.extent == 0) {
      extent /= inner.extent;
      taken.push_back(runs.pop_back_val());
    } else if (inner.extent % extent == 0) {
      taken.push_back({extent, inner.stride});
      inner = {inner.extent / extent, inner.stride * extent};
      extent = 1;
    } else {
      return std::nullopt;
    }
  }
  StridedDim dim;
  for (const StridedRun &run : llvm::reverse(taken))
    append(dim, run);
  return dim;
}

static bool reshape(StridedView &view, ArrayRef<int64_t> shape) {
  StridedDim runs;
  for (const StridedDim &dim : view.dims)
    for (const StridedRun &run : dim)
      append(runs, run);
  view.dims.assign(shape.size(), {});
  for (size_t i = shape.size(); i-- > 0;) {
    std::optional<StridedDim> dim = takeInner(runs, shape[i]);
    if (!dim)
      return false;
    view.dims[i] = std::move(*dim);
  }
  return runs.empty();
}

/// Keeps `extent` positions of `dim` from `begin` on and moves `offset` to the
/// first of them.
static bool slice(StridedDim &dim, int64_t begin, int64_t extent,
                  int64_t &offset) {
  int64_t positions = 1;
  for (const StridedRun &run : dim)
    positions *= run.extent;
  StridedDim kept;
  for (auto [i, run] : llvm::enumerate(dim)) {
    positions /= run.extent;
    offset += begin / positions * run.stride;
    begin %= positions;
    if (extent % positions == 0 && begin == 0) {
      append(kept, {extent / positions, run.stride});
      for (const StridedRun &inner : ArrayRef(dim).drop_front(i + 1))
        append(kept, inner);
      dim = std::move(kept);
      return true;
    }
    if (begin + extent > positions)
      return false;
  }
  return extent == 1;
}

/// A concatenation of views of one source along a dimension.
static std::optional<StridedView> joinViews(JoinOpInterface op,
                                            ArrayRef<StridedView> parts) {
  size_t axis = op.getJoinAxis();
  StridedView whole = parts.front();
  StridedDim first = whole.dims[axis];
  auto extentOf = [&](unsigned i) { return shapeOf(op->getOperand(i))[axis]; };
  // Parts of one kind follow each other at one distance; others only where the
  // positions of the first one would go on.
  bool areAlike = llvm::all_of(
      parts, [&](const StridedView &part) { return part.dims[axis] == first; });
  int64_t total = 0, distance = 0;
  if (areAlike && parts.size() > 1)
    distance = parts[1].offset - parts[0].offset;
  else if (!areAlike && first.size() == 1)
    distance = first[0].stride;
  for (auto [i, part] : llvm::enumerate(parts)) {
    int64_t extent = extentOf(i);
    StridedView expected = whole;
    expected.offset += distance * static_cast<int64_t>(areAlike ? i : total);
    expected.dims[axis] = first;
    if (!areAlike) {
      expected.dims[axis].clear();
      append(expected.dims[axis], {extent, distance});
    }
    if (!(part == expected))
      return std::nullopt;
    total += extent;
  }
  whole.dims[axis].clear();
  append(whole.dims[axis],
         {areAlike ? static_cast<int64_t>(parts.size()) : total, distance});
  if (areAlike)
    for (const StridedRun &run : first)
      append(whole.dims[axis], run);
  return whole;
}

std::optional<StridedView> mpc::train::stridedViewOf(
    OpResult result,
    function_ref<std::optional<StridedView>(Value)> operandView) {
  Operation *op = result.getOwner();
  ArrayRef<int64_t> shape = shapeOf(result);
  if (!isa<MoveOpInterface>(op) || op->getNumOperands() == 0 ||
      ShapedType::getNumElements(shape) == 0)
    return std::nullopt;
  SmallVector<StridedView> views;
  for (Value operand : op->getOperands()) {
    std::optional<StridedView> view = operandView(operand);
    if (!view || elementOf(operand) != elementOf(result))
      return std::nullopt;
    views.push_back(std::move(*view));
  }
  StridedView &view = views.front();
  if (auto join = dyn_cast<JoinOpInterface>(op))
    return joinViews(join, views);
  if (isReshape(op))
    return reshape(view, shape) ? std::optional(view) : std::nullopt;
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    SmallVector<StridedDim> dims;
    for (int64_t dim : transpose.getPermutation())
      dims.push_back(view.dims[dim]);
    view.dims = std::move(dims);
    return view;
  }
  auto split = dyn_cast<SplitOpInterface>(op);
  if (!split)
    return std::nullopt;
  for (auto [dim, begin, extent] : llvm::zip(
           view.dims, split.getPartOffsets(result.getResultNumber()), shape))
    if (!slice(dim, begin, extent, view.offset))
      return std::nullopt;
  return view;
}

StridedView mpc::train::stridedViewOf(Value value) {
  auto result = dyn_cast<OpResult>(value);
  if (result && result.getOwner()->getNumOperands() == 1)
    if (auto view = stridedViewOf(result, [](Value operand) {
          return std::optional(stridedViewOf(operand));
        }))
      return *view;
  return wholeView(value);
}
