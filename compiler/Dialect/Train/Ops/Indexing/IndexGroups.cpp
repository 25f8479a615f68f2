//===- IndexGroups.cpp - Which updates can name a row ---------------------===//

#include "compiler/Dialect/Train/Ops/Indexing/IndexGroups.h"

#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/ElementBody.h"

using namespace mlir;
using namespace mpc::train;

IndexGroups IndexGroups::of(Value flatIndices) {
  while (auto reshape = flatIndices.getDefiningOp<ReshapeOp>())
    flatIndices = reshape.getInput();
  auto flat = flatIndices.getDefiningOp<FlatIndexOp>();
  if (!flat || flat.getAxes().size() != 1)
    return {};
  const int64_t axis = flat.getAxes()[0];
  ArrayRef<int64_t> extents = flat.getExtents(), shape = shapeOf(flat);
  IndexGroups found;
  for (auto [dim, extent] : llvm::enumerate(extents)) {
    if (int64_t(dim) == axis)
      continue;
    if (shape.size() != extents.size() || shape[dim] != extent)
      return {};
    (int64_t(dim) < axis ? found.groups : found.lanes) *= extent;
  }
  return found;
}

LogicalResult IndexGroups::verify(int64_t rows, int64_t indices,
                                  const OpError &error) const {
  if (groups < 1 || lanes < 1 || rows % groups != 0 ||
      rows / groups % lanes != 0 || indices % groups != 0 ||
      indices / groups % lanes != 0)
    return error("'groups' and 'lanes', ", groups, " and ", lanes,
                 ", must divide ", rows, " rows and ", indices, " indices");
  return success();
}

Value IndexGroups::indexAt(ElementBody &body, Value row, int64_t rows,
                           Value turn, int64_t count) const {
  Value at = turn;
  if (groups > 1)
    at = body.plus(body.times(body.dividedBy(row, rows / groups), count), turn);
  if (lanes > 1)
    at = body.plus(body.times(at, lanes), body.modulo(row, lanes));
  return at;
}
