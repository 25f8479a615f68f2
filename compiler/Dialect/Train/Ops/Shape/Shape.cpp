//===- Shape.cpp - Shape and order of elements ----------------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/Lowering.h"
#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Support/Locations.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Traits.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

MPC_OP_FACTS(ReshapeOp, Transparent, 0, "moves no element")
MPC_OP_FACTS(TransposeOp, Transparent, 0, "only moves elements")
MPC_OP_FACTS(BroadcastToOp, Transparent, 0, "only copies elements")
MPC_OP_FACTS(ConcatOp, Promote, 0, "joins operands that may differ in width")
MPC_OP_FACTS(SliceOp, Transparent, 0, "only copies elements")
MPC_OP_FACTS(SplitOp, Transparent, 0, "only copies elements")

Move ReshapeOp::getMove() { return Move::InOrder; }
Move TransposeOp::getMove() { return Move::Permuted; }
Move BroadcastToOp::getMove() { return Move::Repeated; }
Move ConcatOp::getMove() { return Move::Joined; }
Move SliceOp::getMove() { return Move::Picked; }
Move SplitOp::getMove() { return Move::Picked; }

int64_t ConcatOp::getJoinAxis() { return getAxis(); }

SmallVector<int64_t> SliceOp::getPartOffsets(unsigned) {
  return llvm::to_vector(getOffsets());
}

SmallVector<int64_t> SplitOp::getPartOffsets(unsigned result) {
  SmallVector<int64_t> offsets(getInput().getType().getRank());
  for (int64_t size : getSizes().take_front(result))
    offsets[getAxis()] += size;
  return offsets;
}

/// The identity on scalars; the helpers of Lowering.h convert where types
/// differ.
static SmallVector<Value> moveElement(OpBuilder &, Location, ValueRange x) {
  return {x[0]};
}

//===----------------------------------------------------------------------===//
// ReshapeOp
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getInput().getType(), to = getType();
  if (from.getElementType() != to.getElementType() ||
      from.getNumElements() != to.getNumElements()) // reshape_c1
    return emitOpError(
               "must keep the number and type of the elements, but changes ")
           << from << " to " << to;
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getInput()))
    return dense.reshape(getType());
  if (auto producer = getInput().getDefiningOp<ReshapeOp>()) {
    getInputMutable().assign(producer.getInput());
    return getResult();
  }
  return nullptr;
}

LogicalResult ReshapeOp::buildGradient(OpBuilder &builder,
                                       ValueRange resultGrads,
                                       ArrayRef<bool> needed,
                                       MutableArrayRef<Value> operandGrads) {
  if (needed[0])
    operandGrads[0] = reshapeTo(builder, gradientLoc(getLoc()), resultGrads[0],
                                getInput().getType().getShape());
  return success();
}

LogicalResult ReshapeOp::lowerToLinalg(OpBuilder &builder,
                                       SmallVectorImpl<Value> &results) {
  results.assign(
      1, emitReshape(builder, getLoc(), getInput(), getType().getShape()));
  return success();
}

//===----------------------------------------------------------------------===//
// TransposeOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(TransposeOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(op.getInput().getType());
  ArrayRef<int64_t> permutation = op.getPermutation();
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  if (!llvm::equal(sorted,
                   llvm::seq<int64_t>(0, input.getRank()))) // transpose_c1
    return error("'permutation' must permute the ", input.getRank(),
                 " dimensions of the operand, but is [", permutation, "]");
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(input.getDimSize(dim));
  types.push_back(input.clone(shape));
  return success();
}
MPC_INFER(TransposeOp, inferTypes)

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  bool isIdentity = llvm::equal(
      getPermutation(), llvm::seq<int64_t>(0, getInput().getType().getRank()));
  if (isIdentity && getInput().getType() == getType())
    return getInput();
  return nullptr;
}

namespace {

/// transpose(transpose(x)) -> one transpose.
struct MergeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto producer = op.getInput().getDefiningOp<TransposeOp>();
    if (!producer)
      return rewriter.notifyMatchFailure(op, "operand is not a transpose");
    if (producer.getType().getElementType() !=
        producer.getInput().getType().getElementType())
      return rewriter.notifyMatchFailure(op, "the transpose before it rounds");
    SmallVector<int64_t> permutation;
    for (int64_t dim : op.getPermutation())
      permutation.push_back(producer.getPermutation()[dim]);
    rewriter.replaceOpWithNewOp<TransposeOp>(
        op, op.getType(), producer.getInput(),
        rewriter.getDenseI64ArrayAttr(permutation));
    return success();
  }
};

/// A transpose that moves only dimensions of extent 1 is a view.
struct TransposeToReshape : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType input = op.getInput().getType();
    if (input.getElementType() != op.getType().getElementType())
      return rewriter.notifyMatchFailure(op, "rounds");
    SmallVector<int64_t> large;
    for (int64_t dim : op.getPermutation())
      if (input.getDimSize(dim) != 1)
        large.push_back(dim);
    if (!llvm::is_sorted(large))
      return rewriter.notifyMatchFailure(op, "changes the order of elements");
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getInput());
    return success();
  }
};

} // namespace

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<MergeTransposes, TransposeToReshape>(context);
}

/// For each dimension of the operand, the dimension of the result that it
/// becomes.
static SmallVector<int64_t> inverse(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> result(permutation.size());
  for (auto [to, from] : llvm::enumerate(permutation))
    result[from] = to;
  return result;
}

LogicalResult TransposeOp::buildGradient(OpBuilder &builder,
                                         ValueRange resultGrads,
                                         ArrayRef<bool> needed,
                                         MutableArrayRef<Value> operandGrads) {
  if (needed[0])
    operandGrads[0] = TransposeOp::create(
        builder, gradientLoc(getLoc()), resultGrads[0],
        builder.getDenseI64ArrayAttr(inverse(getPermutation())));
  return success();
}

LogicalResult TransposeOp::lowerToLinalg(OpBuilder &builder,
                                         SmallVectorImpl<Value> &results) {
  results = emitIndexed(builder, getLoc(), getOperation()->getResultTypes(),
                        getInput(), inverse(getPermutation()), moveElement);
  return success();
}

//===----------------------------------------------------------------------===//
// BroadcastToOp
//===----------------------------------------------------------------------===//

LogicalResult BroadcastToOp::verify() {
  RankedTensorType from = getInput().getType(), to = getType();
  SmallVector<int64_t> shape;
  if (!OpTrait::util::getBroadcastedShape(from.getShape(), to.getShape(),
                                          shape) ||
      to.getShape() != ArrayRef<int64_t>(shape)) // broadcast_to_c1
    return emitOpError("operand must broadcast to the result, but they are ")
           << from << " and " << to;
  return success();
}

OpFoldResult BroadcastToOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  return nullptr;
}

LogicalResult
BroadcastToOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                             ArrayRef<bool> needed,
                             MutableArrayRef<Value> operandGrads) {
  if (needed[0])
    operandGrads[0] = sumToShape(builder, gradientLoc(getLoc()), resultGrads[0],
                                 getInput().getType().getShape());
  return success();
}

LogicalResult BroadcastToOp::lowerToLinalg(OpBuilder &builder,
                                           SmallVectorImpl<Value> &results) {
  results = emitElementwise(builder, getLoc(), getOperation()->getResultTypes(),
                            getInput(), moveElement);
  return success();
}

//===----------------------------------------------------------------------===//
// ConcatOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(ConcatOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  int64_t axis = op.getAxis();
  if (op.getInputs().empty()) // concat_c1
    return error("needs an operand");
  auto first = cast<RankedTensorType>(op.getInputs()[0].getType());
  if (axis < 0 || axis >= first.getRank()) // concat_c1
    return error("'axis' must lie in [0, ", first.getRank(), "), but is ",
                 axis);

  SmallVector<int64_t> shape(first.getShape());
  shape[axis] = 0;
  for (Value operand : op.getInputs()) {
    auto type = cast<RankedTensorType>(operand.getType());
    SmallVector<int64_t> others(type.getShape());
    if (type.getRank() == first.getRank()) {
      shape[axis] += type.getDimSize(axis);
      others[axis] = first.getDimSize(axis);
    }
    if (!haveSameShapes(type.clone(others), first)) // concat_c2
      return error("operands must agree except in dimension ", axis,
                   ", but are ", first, " and ", type);
  }
  types.push_back(first.clone(shape));
  return success();
}
MPC_INFER(ConcatOp, inferTypes)

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (getInputs().size() == 1 && getInputs()[0].getType() == getType())
    return getInputs()[0];
  return nullptr;
}

LogicalResult ConcatOp::buildGradient(OpBuilder &builder,
                                      ValueRange resultGrads,
                                      ArrayRef<bool> needed,
                                      MutableArrayRef<Value> operandGrads) {
  Type element = getElementTypeOrSelf(resultGrads[0].getType());
  SmallVector<int64_t> offsets(getType().getRank(), 0);
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    auto type = cast<RankedTensorType>(input.getType());
    if (needed[index])
      operandGrads[index] = SliceOp::create(
          builder, gradientLoc(getLoc()), type.clone(element), resultGrads[0],
          builder.getDenseI64ArrayAttr(offsets));
    offsets[getAxis()] += type.getDimSize(getAxis());
  }
  return success();
}

/// The map from positions in a box of extents `box` to those in a tensor of
/// `shape` in which the box begins at `offsets`.
static AffineMap boxMap(OpBuilder &builder, ArrayRef<int64_t> box,
                        ArrayRef<int64_t> shape, ArrayRef<int64_t> offsets) {
  SmallVector<AffineExpr> exprs;
  for (size_t dim = 0; dim < box.size(); ++dim) {
    AffineExpr expr = builder.getAffineDimExpr(dim);
    if (offsets[dim] != 0)
      expr = expr + offsets[dim];
    else if (box[dim] != shape[dim])
      expr = expr % shape[dim]; // linalg takes a plain dimension for all of it.
    exprs.push_back(expr);
  }
  return AffineMap::get(box.size(), 0, exprs, builder.getContext());
}

/// Emits a generic over the dimensions of the maps that copies elements of
/// `input` to those of `init`.
static Value emitCopy(OpBuilder &builder, Location loc, Value input,
                      AffineMap inputMap, Value init, AffineMap initMap) {
  Type element = getElementTypeOrSelf(init.getType());
  SmallVector<utils::IteratorType> iterators(inputMap.getNumDims(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, TypeRange(init.getType()), input, init,
             ArrayRef<AffineMap>{inputMap, initMap}, iterators,
             [&](OpBuilder &inner, Location, ValueRange arguments) {
               Value value = arguments[0];
               if (isa<FloatType>(element))
                 value = convertFloat(inner, loc, value, element);
               linalg::YieldOp::create(inner, loc, value);
             })
      .getResult(0);
}

LogicalResult ConcatOp::lowerToLinalg(OpBuilder &builder,
                                      SmallVectorImpl<Value> &results) {
  ArrayRef<int64_t> shape = getType().getShape();
  Value joined = tensor::EmptyOp::create(builder, getLoc(), shape,
                                         getType().getElementType());
  SmallVector<int64_t> offsets(shape.size(), 0);
  AffineMap identity = builder.getMultiDimIdentityMap(shape.size());
  for (Value input : getInputs()) {
    ArrayRef<int64_t> box = cast<RankedTensorType>(input.getType()).getShape();
    joined = emitCopy(builder, getLoc(), input, identity, joined,
                      boxMap(builder, box, shape, offsets));
    offsets[getAxis()] += box[getAxis()];
  }
  results.assign(1, joined);
  return success();
}

//===----------------------------------------------------------------------===//
// SliceOp
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::verify() {
  RankedTensorType from = getInput().getType(), to = getType();
  ArrayRef<int64_t> offsets = getOffsets();
  if (from.getElementType() != to.getElementType() ||
      from.getRank() != to.getRank()) // slice_c1
    return emitOpError("must keep rank and element type, but goes from ")
           << from << " to " << to;
  if (static_cast<int64_t>(offsets.size()) != from.getRank()) // slice_c1
    return emitOpError("needs one offset per dimension, but has ")
           << offsets.size() << " for " << from.getRank();
  for (auto [dim, offset] : llvm::enumerate(offsets))
    if (offset < 0 ||
        offset + to.getDimSize(dim) > from.getDimSize(dim)) // slice_c1
      return emitOpError("must lie inside the operand, but takes elements ")
             << offset << " to " << offset + to.getDimSize(dim)
             << " of dimension " << dim << " of " << from;
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  return nullptr;
}

/// A constant of zeros with the shape of `value`, but `extent` positions in
/// dimension `dim`.
static Value zerosBeside(OpBuilder &builder, Location loc, Value value,
                         int64_t dim, int64_t extent) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = extent;
  ElementsAttr zeros = DenseElementsAttr::get(
      type.clone(shape), builder.getFloatAttr(type.getElementType(), 0.0));
  return ConstantOp::create(builder, loc, zeros);
}

LogicalResult SliceOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                     ArrayRef<bool> needed,
                                     MutableArrayRef<Value> operandGrads) {
  if (!needed[0])
    return success();
  Location loc = gradientLoc(getLoc());
  Value grad = resultGrads[0];
  RankedTensorType from = getInput().getType(), to = getType();
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    int64_t before = getOffsets()[dim];
    int64_t after = from.getDimSize(dim) - before - to.getDimSize(dim);
    SmallVector<Value> parts;
    if (before > 0)
      parts.push_back(zerosBeside(builder, loc, grad, dim, before));
    parts.push_back(grad);
    if (after > 0)
      parts.push_back(zerosBeside(builder, loc, grad, dim, after));
    if (parts.size() > 1)
      grad = ConcatOp::create(builder, loc, parts, dim);
  }
  operandGrads[0] = grad;
  return success();
}

namespace {

/// Disjoint slices of one tensor along one dimension -> train.split. The sum of
/// their gradients is then a single tensor that is written once.
struct SlicesToSplit : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  /// The only dimension that `op` slices, if there is only one.
  static std::optional<int64_t> onlyDim(SliceOp op) {
    std::optional<int64_t> found;
    for (int64_t dim = 0; dim < op.getType().getRank(); ++dim) {
      if (op.getType().getDimSize(dim) ==
          op.getInput().getType().getDimSize(dim))
        continue;
      if (found)
        return std::nullopt;
      found = dim;
    }
    return found;
  }

  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<int64_t> axis = onlyDim(op);
    if (!axis)
      return rewriter.notifyMatchFailure(op,
                                         "takes a part of several dimensions");
    SmallVector<SliceOp> slices;
    for (Operation *user : op.getInput().getUsers())
      if (auto slice = dyn_cast<SliceOp>(user))
        if (onlyDim(slice) == axis && slice->getBlock() == op->getBlock())
          slices.push_back(slice);
    llvm::stable_sort(slices, [&](SliceOp a, SliceOp b) {
      return a.getOffsets()[*axis] < b.getOffsets()[*axis];
    });
    if (slices.size() < 2)
      return rewriter.notifyMatchFailure(op, "is alone");

    // The sizes of the parts, including the gaps between slices.
    SmallVector<int64_t> sizes;
    SmallVector<unsigned> partOf;
    int64_t end = 0, extent = op.getInput().getType().getDimSize(*axis);
    for (SliceOp slice : slices) {
      int64_t begin = slice.getOffsets()[*axis];
      if (begin < end)
        return rewriter.notifyMatchFailure(op, "overlaps with another slice");
      if (begin > end)
        sizes.push_back(begin - end);
      partOf.push_back(sizes.size());
      sizes.push_back(slice.getType().getDimSize(*axis));
      end = begin + sizes.back();
    }
    if (end < extent)
      sizes.push_back(extent - end);

    rewriter.setInsertionPointAfterValue(op.getInput());
    auto split = SplitOp::create(rewriter, op.getLoc(), op.getInput(),
                                 rewriter.getI64IntegerAttr(*axis),
                                 rewriter.getDenseI64ArrayAttr(sizes));
    for (auto [slice, part] : llvm::zip_equal(slices, partOf))
      rewriter.replaceOp(slice, split.getResult(part));
    return success();
  }
};

} // namespace

void SliceOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<SlicesToSplit>(context);
}

LogicalResult SliceOp::lowerToLinalg(OpBuilder &builder,
                                     SmallVectorImpl<Value> &results) {
  RankedTensorType from = getInput().getType(), to = getType();
  Value empty = tensor::EmptyOp::create(builder, getLoc(), to.getShape(),
                                        to.getElementType());
  AffineMap box = boxMap(builder, to.getShape(), from.getShape(), getOffsets());
  results.assign(1, emitCopy(builder, getLoc(), getInput(), box, empty,
                             builder.getMultiDimIdentityMap(to.getRank())));
  return success();
}

//===----------------------------------------------------------------------===//
// SplitOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(SplitOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(op.getInput().getType());
  int64_t axis = op.getAxis();
  if (axis < 0 || axis >= input.getRank()) // split_c1
    return error("'axis' must lie in [0, ", input.getRank(), "), but is ",
                 axis);
  int64_t extent = input.getDimSize(axis), left = extent;
  SmallVector<int64_t> shape(input.getShape());
  for (int64_t size : op.getSizes()) {
    if (size < 1 || size > left) // split_c1
      left = -1;
    if (left < 0)
      break;
    left -= size;
    shape[axis] = size;
    types.push_back(input.clone(shape));
  }
  if (left != 0) // split_c1
    return error("'sizes' must be positive and add up to ", extent,
                 ", the extent of dimension ", axis, ", but are [",
                 op.getSizes(), "]");
  return success();
}
MPC_INFER(SplitOp, inferTypes)

LogicalResult SplitOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                     ArrayRef<bool> needed,
                                     MutableArrayRef<Value> operandGrads) {
  if (!needed[0])
    return success();
  Location loc = gradientLoc(getLoc());
  SmallVector<Value> parts(resultGrads);
  Value known = *llvm::find_if(parts, [](Value part) { return bool(part); });
  for (auto [part, size] : llvm::zip_equal(parts, getSizes()))
    if (!part)
      part = zerosBeside(builder, loc, known, getAxis(), size);
  operandGrads[0] = ConcatOp::create(builder, loc, parts, getAxis());
  return success();
}

LogicalResult SplitOp::lowerToLinalg(OpBuilder &builder,
                                     SmallVectorImpl<Value> &results) {
  ArrayRef<int64_t> shape = getInput().getType().getShape();
  SmallVector<int64_t> offsets(shape.size(), 0);
  AffineMap identity = builder.getMultiDimIdentityMap(shape.size());
  for (auto [part, size] : llvm::zip_equal(getParts(), getSizes())) {
    auto type = cast<RankedTensorType>(part.getType());
    Value empty = tensor::EmptyOp::create(builder, getLoc(), type.getShape(),
                                          type.getElementType());
    AffineMap box = boxMap(builder, type.getShape(), shape, offsets);
    results.push_back(
        emitCopy(builder, getLoc(), getInput(), box, empty, identity));
    offsets[getAxis()] += size;
  }
  return success();
}

namespace {

/// split(x) -> reshapes of all parts becomes split(reshape(x)), if the parts
/// still lie along one dimension. Ops that follow the reshapes, such as the
/// transposes of heads, are then users of the split itself.
struct ReshapeBeforeSplit : OpRewritePattern<SplitOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SplitOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<ReshapeOp> reshapes;
    for (Operation *user : op->getUsers()) {
      auto reshape = dyn_cast<ReshapeOp>(user);
      if (!reshape)
        return rewriter.notifyMatchFailure(op, "not only reshapes use it");
      reshapes.push_back(reshape);
    }
    if (reshapes.empty())
      return rewriter.notifyMatchFailure(op, "nothing uses it");

    RankedTensorType input = op.getInput().getType();
    ArrayRef<int64_t> first = reshapes.front().getType().getShape();
    int64_t before = 1, wanted = 1;
    for (int64_t extent : input.getShape().take_front(op.getAxis()))
      wanted *= extent;
    for (auto [dim, extent] : llvm::enumerate(first)) {
      if (before == wanted && fits(op, reshapes, dim)) {
        rewrite(op, reshapes, dim, rewriter);
        return success();
      }
      before *= extent;
    }
    return rewriter.notifyMatchFailure(op, "reshapes mix the parts");
  }

private:
  /// The number of elements at one position of dimension `dim`.
  static int64_t elementsAfter(ArrayRef<int64_t> shape, int64_t dim) {
    int64_t count = 1;
    for (int64_t extent : shape.drop_front(dim + 1))
      count *= extent;
    return count;
  }

  /// True if the results of all reshapes are parts along `dim`, and the
  /// dimensions before `dim` have as many elements as those before the axis of
  /// `op`.
  static bool fits(SplitOp op, ArrayRef<ReshapeOp> reshapes, int64_t dim) {
    SmallVector<int64_t> common(
        ReshapeOp(reshapes.front()).getType().getShape());
    for (ReshapeOp reshape : reshapes) {
      SmallVector<int64_t> shape(reshape.getType().getShape());
      if (shape.size() != common.size())
        return false;
      shape[dim] = common[dim];
      if (shape != common)
        return false;
    }
    int64_t unit = elementsAfter(common, dim);
    int64_t each =
        elementsAfter(op.getInput().getType().getShape(), op.getAxis());
    return llvm::all_of(op.getSizes(),
                        [&](int64_t size) { return size * each % unit == 0; });
  }

  static void rewrite(SplitOp op, ArrayRef<ReshapeOp> reshapes, int64_t dim,
                      PatternRewriter &rewriter) {
    RankedTensorType input = op.getInput().getType();
    SmallVector<int64_t> shape(
        ReshapeOp(reshapes.front()).getType().getShape());
    int64_t unit = elementsAfter(shape, dim);
    int64_t each = elementsAfter(input.getShape(), op.getAxis());
    SmallVector<int64_t> sizes;
    for (int64_t size : op.getSizes())
      sizes.push_back(size * each / unit);
    shape[dim] = input.getDimSize(op.getAxis()) * each / unit;
    Value whole = ReshapeOp::create(rewriter, op.getLoc(), input.clone(shape),
                                    op.getInput());
    auto split = SplitOp::create(rewriter, op.getLoc(), whole,
                                 rewriter.getI64IntegerAttr(dim),
                                 rewriter.getDenseI64ArrayAttr(sizes));
    for (ReshapeOp reshape : reshapes) {
      unsigned part = cast<OpResult>(reshape.getInput()).getResultNumber();
      rewriter.replaceOp(reshape, split.getResult(part));
    }
    rewriter.eraseOp(op);
  }
};

/// A split with one part is the identity.
struct SplitOfOne : OpRewritePattern<SplitOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SplitOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getNumResults() != 1 ||
        op.getResult(0).getType() != op.getInput().getType())
      return rewriter.notifyMatchFailure(op, "has several parts, or rounds");
    rewriter.replaceOp(op, op.getInput());
    return success();
  }
};

} // namespace

void SplitOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<ReshapeBeforeSplit, SplitOfOne>(context);
}
