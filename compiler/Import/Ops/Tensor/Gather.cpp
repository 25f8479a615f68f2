//===- Gather.cpp - Import of Gather on data ------------------------------===//

#include "compiler/Import/Ops/Tensor/Gather.h"

#include "compiler/Import/Ops/Training/Backward.h"

#include <numeric>

using namespace mlir;
using namespace mpc;

/// The dimensions of `data`, with `axis` replaced by those of the indices.
static SmallVector<int64_t> gatheredShape(ArrayRef<int64_t> data, int64_t axis,
                                          ArrayRef<int64_t> indices) {
  SmallVector<int64_t> shape(data.take_front(axis));
  llvm::append_range(shape, indices);
  llvm::append_range(shape, data.drop_front(axis + 1));
  return shape;
}

/// The indices into a dimension of `extent`, counted from the front, if they
/// are known. Reports an error if one is out of range.
static SmallVector<int64_t> knownIndices(ImportedNode &node, int64_t extent) {
  if (!node.isConstant(1))
    return {};
  KnownTensor known = node.constant(1);
  if (known.isFloat() || known.isBool())
    return {};
  SmallVector<int64_t> indices(known.ints.begin(), known.ints.end());
  for (int64_t &index : indices)
    index = node.normalizeAxis(index, extent, "an index");
  return indices;
}

static bool areConsecutive(ArrayRef<int64_t> indices) {
  for (size_t i = 1; i < indices.size(); ++i)
    if (indices[i] != indices[0] + int64_t(i))
      return false;
  return true;
}

/// Lets the runtime check an input of the model that is used as indices of
/// `rows` rows, if `indices` is an input, possibly with another shape or
/// integer type.
static void limitInput(Value indices, int64_t rows) {
  while (Operation *op = indices.getDefiningOp()) {
    bool isSame = isa<train::ReshapeOp, train::TransposeOp>(op) ||
                  (isa<train::CastOp>(op) &&
                   getElementTypeOrSelf(op->getOperand(0)).isIntOrIndex());
    if (!isSame)
      return;
    indices = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(indices);
  if (getElementTypeOrSelf(argument.getType()).isInteger(1))
    return;
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  unsigned number = argument.getArgNumber();
  // With several tables, all must have the row.
  if (auto other = function.getArgAttrOfType<ArrayAttr>(number, kRangeAttr))
    rows = std::min(rows, cast<IntegerAttr>(other[1]).getInt());
  function.setArgAttr(number, kRangeAttr,
                      Builder(function).getI64ArrayAttr({-rows, rows}));
}

/// The slice of `data` from index `first` on, in the shape of the result.
static Value takePart(ImportedNode &node, Value data, int64_t axis,
                      int64_t first, ArrayRef<int64_t> indices) {
  auto type = cast<RankedTensorType>(data.getType());
  SmallVector<int64_t> box(type.getShape()), offsets(type.getRank(), 0);
  box[axis] = ShapedType::getNumElements(indices);
  offsets[axis] = first;
  Value part = data;
  if (ArrayRef<int64_t>(box) != type.getShape())
    part = train::SliceOp::create(node.graph.builder, node.loc, type.clone(box),
                                  data, offsets);
  return node.reshape(part, gatheredShape(type.getShape(), axis, indices));
}

/// Rows of a table are along its first dimension: moves `axis` there, and the
/// dimensions of the indices to its place afterwards.
static Value lookUp(ImportedNode &node, Value data, int64_t axis,
                    Value indices) {
  int64_t rank = shapeOf(data).size(), indexRank = shapeOf(indices).size();
  // The catalog's kernel copies only floats.
  auto rowsOf = [&](Value table) {
    return isFloat(data) ? node.emit<train::EmbeddingOp>({table, indices})
                         : node.emit<train::GatherOp>({table, indices});
  };
  if (axis == 0)
    return rowsOf(data);
  SmallVector<int64_t> toFront = {axis}, back;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != axis)
      toFront.push_back(dim);
  Value table =
      node.emit<train::TransposeOp>(data, node.i64s("permutation", toFront));
  Value rows = rowsOf(table);
  for (int64_t dim = 0; dim < axis; ++dim)
    back.push_back(indexRank + dim);
  for (int64_t dim = 0; dim < indexRank; ++dim)
    back.push_back(dim);
  for (int64_t dim = axis; dim < rank - 1; ++dim)
    back.push_back(indexRank + dim);
  return node.emit<train::TransposeOp>(rows, node.i64s("permutation", back));
}

Value mpc::gatherAlong(ImportedNode &node, Value data, int64_t axis,
                       Value indices) {
  Value result = lookUp(node, data, axis, indices);
  if (result)
    limitInput(indices, shapeOf(data)[axis]);
  return result;
}

/// `rows` unchanged, but without gradients where `row` of `extent` rows was
/// looked up.
static Value detachRow(ImportedNode &node, Value rows, Value indices,
                       int64_t row, int64_t extent) {
  auto isRow = [&](int64_t index) {
    return node.compare(indices, node.numberLike(indices, index),
                        train::Comparison::Equal);
  };
  Value found = node.emit<train::OrOp>({isRow(row), isRow(row - extent)});
  SmallVector<int64_t> shape(shapeOf(indices));
  shape.resize(shapeOf(rows).size(), 1);
  return node.emit<train::SelectOp>({node.reshape(found, shape),
                                     node.emit<train::StopGradientOp>(rows),
                                     rows});
}

LogicalResult mpc::importGatherOfData(ImportedNode &node) {
  int64_t axis = node.intAttr("axis", 0);
  Value data = node.input(0);
  if (!data)
    return failure();
  ArrayRef<int64_t> shape = shapeOf(data);
  axis = node.normalizeAxis(axis, shape.size(), "attribute 'axis'");
  if (node.failed())
    return failure();
  SmallVector<int64_t> indexShape = node.shapeOfInput(1);
  if (shape.size() - 1 + indexShape.size() > kMaxRank)
    return node.shapeError()
           << "the result has " << shape.size() - 1 + indexShape.size()
           << " dimensions; at most " << kMaxRank << " are supported";

  SmallVector<int64_t> known = knownIndices(node, shape[axis]);
  if (node.failed())
    return failure();
  std::optional<int64_t> padding;
  if (axis == 0 && isFloat(data))
    padding = node.graph.paddingRowOf(node.graph.lookup(node.proto.input(0)));
  if (!known.empty() && areConsecutive(known) && !padding)
    return node.setOutput(
        0, takePart(node, data, axis, known.front(), indexShape));
  Value indices = node.intInput(1);
  if (!indices)
    return failure();
  Value result = gatherAlong(node, data, axis, indices);
  if (result && padding)
    result = detachRow(node, result, indices, *padding, shape[0]);
  return node.setOutput(0, result);
}

/// Inputs the shape of X, the indices and dY.
LogicalResult mpc::importGatherGrad(ImportedNode &node) {
  SmallVector<int64_t> shape = knownShape(node, 0);
  Value grad = node.floatInput(2);
  int64_t axis = node.normalizeAxis(node.intAttr("axis", 0), shape.size(),
                                    "attribute 'axis'");
  if (node.failed())
    return failure();
  SmallVector<int64_t> indexShape = node.shapeOfInput(1);
  if (shapeOf(grad) !=
      ArrayRef<int64_t>(gatheredShape(shape, axis, indexShape)))
    return node.shapeError()
           << "the gradient must have the shape of what is "
              "gathered, ["
           << ArrayRef(gatheredShape(shape, axis, indexShape)) << "]";
  SmallVector<int64_t> known = knownIndices(node, shape[axis]);
  Value table = leafOf(node, shape), gathered;
  if (node.failed())
    return failure();
  if (!known.empty() && areConsecutive(known))
    gathered = takePart(node, table, axis, known.front(), indexShape);
  else if (Value indices = node.intInput(1))
    gathered = lookUp(node, table, axis, indices);
  return node.setOutput(0, gradientOf(node, gathered, grad, table));
}
