//===- Unfold.cpp - Windows of images of any rank -------------------------===//

#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/ElementBody.h"
#include "compiler/Dialect/Train/Ops/Window/Window.h"
#include "compiler/Support/Locations.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

using Values = ElementBody::Values;

MPC_OP_FACTS(UnfoldOp, Transparent, 0, "only copies elements")
MPC_OP_FACTS(FoldOp, Follow, countElements(getInput()),
             "sums of a few elements, taken in f32")

/// Computes the shape of an unfolded image.
static LogicalResult unfoldedShape(ArrayRef<int64_t> image,
                                   const Window &window, const OpError &error,
                                   SmallVectorImpl<int64_t> &shape) {
  if (image.size() < 3) // unfold_c1
    return error("the image must have rank 3 or more, but has rank ",
                 image.size());
  SmallVector<int64_t> positions;
  if (failed(slideWindow(window, image.drop_front(2), error, positions)))
    return failure();
  shape.assign({image[0], image[1]});
  llvm::append_range(shape, window.kernel);
  llvm::append_range(shape, positions);
  return success();
}

static LogicalResult inferTypes(UnfoldOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> shape;
  if (failed(unfoldedShape(shapeOf(op.getInput()),
                           Window::of(op, op.getKernelShape()), error, shape)))
    return failure();
  types.push_back(RankedTensorType::get(shape, elementOf(op.getInput())));
  return success();
}
MPC_INFER(UnfoldOp, inferTypes)

/// The extents of the window in a tensor [N, C, K.., P..].
static ArrayRef<int64_t> kernelOf(ArrayRef<int64_t> unfolded, size_t rank) {
  return unfolded.slice(std::min<size_t>(2, unfolded.size()),
                        std::min(rank - 2, unfolded.size() - 2));
}

static LogicalResult inferTypes(FoldOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> image = op.getImageShape(), from = shapeOf(op.getInput());
  SmallVector<int64_t> shape;
  if (image.size() < 3 || from.size() != 2 * image.size() - 2 ||
      llvm::any_of(image, [](int64_t extent) { return extent < 1; })) // fold_c1
    return error("an image of shape [", image,
                 "] does not unfold to a tensor of shape [", from, "]");
  Window window = Window::of(op, kernelOf(from, image.size()));
  if (failed(unfoldedShape(image, window, error, shape)))
    return failure();
  if (from != ArrayRef<int64_t>(shape)) // fold_c1
    return error("'image_shape' unfolds to [", shape,
                 "], but the input has shape [", from, "]");
  types.push_back(RankedTensorType::get(image, elementOf(op.getInput())));
  return success();
}
MPC_INFER(FoldOp, inferTypes)

LogicalResult UnfoldOp::buildGradient(OpBuilder &builder,
                                      ValueRange resultGrads,
                                      ArrayRef<bool> needed,
                                      MutableArrayRef<Value> operandGrads) {
  if (needed[0])
    operandGrads[0] = FoldOp::create(
        builder, gradientLoc(getLoc()), resultGrads[0], shapeOf(getInput()),
        getStrides(), getDilations(), getPadsBegin(), getPadsEnd());
  return success();
}

LogicalResult FoldOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                    ArrayRef<bool> needed,
                                    MutableArrayRef<Value> operandGrads) {
  if (needed[0])
    operandGrads[0] = UnfoldOp::create(
        builder, gradientLoc(getLoc()), resultGrads[0],
        kernelOf(shapeOf(getInput()), getImageShape().size()), getStrides(),
        getDilations(), getPadsBegin(), getPadsEnd(), APFloat(0.0));
  return success();
}

LogicalResult UnfoldOp::lowerToLinalg(OpBuilder &builder,
                                      SmallVectorImpl<Value> &results) {
  Value input = getInput();
  ArrayRef<int64_t> image = shapeOf(input);
  size_t spatial = image.size() - 2;
  FloatType compute = getComputeType(input);
  results = emitComputed(
      builder, getLoc(), TypeRange(getType()), {}, compute,
      [&](ElementBody body, ValueRange) -> Values {
        Values places = {body.position(0), body.position(1)};
        Value isInside;
        for (size_t d = 0; d < spatial; ++d) {
          Value tap = body.times(body.position(2 + d), getDilations()[d]);
          Value first = body.minus(
              body.times(body.position(2 + spatial + d), getStrides()[d]),
              body.indexConstant(getPadsBegin()[d]));
          places.push_back(body.plus(first, tap));
          Value isInRange = body.isWithin(places.back(), image[2 + d]);
          isInside = isInside ? body.andOf(isInside, isInRange) : isInRange;
        }
        Value none = body.number(getPadding().convertToDouble());
        return {body.readIf(isInside, input, places, none)};
      });
  return success();
}

/// For each element and each tap of the window, finds the position of the
/// window that has the element at the tap.
LogicalResult FoldOp::lowerToLinalg(OpBuilder &builder,
                                    SmallVectorImpl<Value> &results) {
  Value input = getInput();
  size_t spatial = getImageShape().size() - 2;
  ArrayRef<int64_t> kernel = kernelOf(shapeOf(input), spatial + 2);
  ArrayRef<int64_t> positions = shapeOf(input).take_back(spatial);
  FloatType compute = getComputeType(input);
  results = emitComputed(
      builder, getLoc(), TypeRange(getType()), {}, compute,
      [&](ElementBody body, ValueRange) -> Values {
        Value zero = body.number(0);
        return body.loop(
            ShapedType::getNumElements(kernel), zero,
            [&](Value turn, ValueRange sum) -> Values {
              Values places(2 + 2 * spatial);
              places[0] = body.position(0);
              places[1] = body.position(1);
              Value exists;
              for (size_t d = spatial; d-- > 0;) {
                Value tap = body.modulo(turn, kernel[d]);
                turn = body.dividedBy(turn, kernel[d]);
                Value offset =
                    body.minus(body.plus(body.position(2 + d),
                                         body.indexConstant(getPadsBegin()[d])),
                               body.times(tap, getDilations()[d]));
                Value position = body.dividedBy(offset, getStrides()[d]);
                Value isInRange = body.isWithin(position, positions[d]);
                if (getStrides()[d] != 1)
                  isInRange = body.andOf(
                      isInRange,
                      body.equals(body.times(position, getStrides()[d]),
                                  offset));
                exists = exists ? body.andOf(exists, isInRange) : isInRange;
                places[2 + d] = tap;
                places[2 + spatial + d] = position;
              }
              Value term = body.readIf(exists, input, places, zero);
              return {body.add(sum[0], term)};
            });
      });
  return success();
}
