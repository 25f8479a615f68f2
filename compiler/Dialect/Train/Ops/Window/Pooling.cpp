//===- Pooling.cpp - Pooling over windows ---------------------------------===//

#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/Emit.h"
#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Dialect/Train/Ops/Window/Window.h"
#include "compiler/Support/Locations.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

//===----------------------------------------------------------------------===//
// Common helpers
//===----------------------------------------------------------------------===//

/// Returns the first position of the window in spatial dimension `dim` that
/// covers nothing but padding, if there is one.
static std::optional<int64_t> findEmptyWindow(const Window &window, size_t dim,
                                              int64_t extent,
                                              int64_t positions) {
  int64_t dilation = window.dilations[dim];
  for (int64_t position = 0; position < positions; ++position) {
    int64_t first = position * window.strides[dim] - window.padsBegin[dim];
    // The first element of the window that is not before the image.
    int64_t tap = first < 0 ? (-first + dilation - 1) / dilation : 0;
    if (tap >= window.kernel[dim] || first + tap * dilation >= extent)
      return position;
  }
  return std::nullopt;
}

/// Checks a pooling of an image of shape `input` and computes the shape of its
/// result.
static LogicalResult checkPooling(ArrayRef<int64_t> input, const Window &window,
                                  bool channelsLast, const OpError &error,
                                  SmallVectorImpl<int64_t> &result) {
  size_t rank = input.size();
  if (rank < 3 || rank > 4) // max_pool_c1, average_pool_c1
    return error("the image must have rank 3 or 4, but has rank ", rank);
  ArrayRef<int64_t> extents = spatialExtents(input, channelsLast);
  SmallVector<int64_t> spatial;
  if (failed(slideWindow(window, extents, error, spatial)))
    return failure();
  for (size_t dim = 0; dim < extents.size(); ++dim) {
    int64_t pad = std::max(window.padsBegin[dim], window.padsEnd[dim]);
    if (pad >= window.reach(dim)) // max_pool_c1, average_pool_c1
      return error("pads must be smaller than the window, but in spatial "
                   "dimension ",
                   dim, " they are ", pad, " for a window that spans ",
                   window.reach(dim));
    // A dilated window can skip a small image (max_pool_c1).
    if (std::optional<int64_t> position =
            findEmptyWindow(window, dim, extents[dim], spatial[dim]))
      return error("each window must cover part of the image, but window ",
                   *position, " of spatial dimension ", dim, " does not");
  }
  int64_t channels = input[channelDim(rank, channelsLast)];
  result = imageShape(input[0], channels, spatial, channelsLast);
  return success();
}

/// Checks the gradient of a pooling and computes the shape of its result.
template <typename Adaptor>
static LogicalResult checkPoolingGradient(Adaptor op, const OpError &error,
                                          SmallVectorImpl<int64_t> &pooled) {
  ArrayRef<int64_t> input = op.getInputShape();
  if (llvm::any_of(input, [](int64_t extent) { return extent < 1; }))
    return error("'input_shape' must be positive, but is [", input, "]");
  if (failed(checkPooling(input, Window::of(op, op.getKernelShape()),
                          op.getChannelsLast(), error, pooled)))
    return failure();
  return checkShape("grad", op.getGrad(), pooled, error);
}

/// The attributes of the catalog's kernel, which begin with `flags`.
template <typename Op>
static SmallVector<int64_t> kernelAttributes(Op op, ArrayRef<int64_t> flags) {
  SmallVector<int64_t> attributes(flags);
  llvm::append_range(attributes, op.getKernelShape());
  Window::of(op, op.getKernelShape()).appendGeometry(attributes);
  return attributes;
}

/// One operation for each element of each window.
static int64_t countFlops(Value pooled, ArrayRef<int64_t> kernel) {
  return countElements(pooled) * ShapedType::getNumElements(kernel);
}

//===----------------------------------------------------------------------===//
// MaxPoolOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(MaxPoolOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  Window window = Window::of(op, op.getKernelShape());
  SmallVector<int64_t> pooled;
  if (failed(checkPooling(shapeOf(op.getInput()), window, op.getChannelsLast(),
                          error, pooled)))
    return failure();
  if (window.size() > 255) // max_pool_c2
    return error("the window must have at most 255 elements, but is [",
                 window.kernel, "]");
  types.push_back(RankedTensorType::get(pooled, elementOf(op.getInput())));
  types.push_back(RankedTensorType::get(
      pooled, IntegerType::get(op.getInput().getContext(), 8)));
  return success();
}
MPC_INFER(MaxPoolOp, inferTypes)

LogicalResult MaxPoolOp::buildGradient(OpBuilder &builder,
                                       ValueRange resultGrads,
                                       ArrayRef<bool> needed,
                                       MutableArrayRef<Value> operandGrads) {
  if (needed[0])
    operandGrads[0] = MaxPoolGradOp::create(
        builder, gradientLoc(getLoc()), resultGrads[0], getIndices(),
        shapeOf(getInput()), getKernelShape(), getStrides(), getDilations(),
        getPadsBegin(), getPadsEnd(), getChannelsLast());
  return success();
}

MPC_OP_FACTS(MaxPoolOp, Transparent, countFlops(getResult(), getKernelShape()),
             "the maximum of rounded values is the rounded maximum")

bool MaxPoolOp::isChannelsLast() { return getChannelsLast(); }
void MaxPoolOp::setChannelsLast() { setChannelsLast(true); }
SmallVector<unsigned> MaxPoolOp::getImageOperands() { return {0}; }
SmallVector<unsigned> MaxPoolOp::getImageResults() { return {0, 1}; }

StringRef MaxPoolOp::getKernelName() { return "max_pool"; }
SmallVector<int64_t> MaxPoolOp::getKernelAttributes() {
  return kernelAttributes(*this, {getChannelsLast()});
}

//===----------------------------------------------------------------------===//
// MaxPoolGradOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(MaxPoolGradOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> pooled;
  if (failed(checkPoolingGradient(op, error, pooled)) ||
      failed(checkShape("indices", op.getIndices(), pooled, error)))
    return failure();
  types.push_back(
      RankedTensorType::get(op.getInputShape(), elementOf(op.getGrad())));
  return success();
}
MPC_INFER(MaxPoolGradOp, inferTypes)

// The pooling kernels read and write the same type, so their class must keep
// operand and result equal.
amp::PrecisionClass MaxPoolGradOp::getPrecisionClass(FloatType) {
  return Window::of(*this, getKernelShape()).overlaps()
             ? amp::PrecisionClass::Follow
             : amp::PrecisionClass::Transparent;
}
StringRef MaxPoolGradOp::getPrecisionReason(FloatType) {
  return Window::of(*this, getKernelShape()).overlaps()
             ? "windows overlap: gradients that meet are added in f32"
             : "moves values";
}

int64_t MaxPoolGradOp::getFlops() { return countElements(getGrad()); }

bool MaxPoolGradOp::isChannelsLast() { return getChannelsLast(); }
void MaxPoolGradOp::setChannelsLast() {
  setInputShape(toChannelsLast(getInputShape()));
  setChannelsLast(true);
}
SmallVector<unsigned> MaxPoolGradOp::getImageOperands() { return {0, 1}; }
SmallVector<unsigned> MaxPoolGradOp::getImageResults() { return {0}; }

StringRef MaxPoolGradOp::getKernelName() { return "max_pool_grad"; }
SmallVector<int64_t> MaxPoolGradOp::getKernelAttributes() {
  return kernelAttributes(*this, {getChannelsLast()});
}

//===----------------------------------------------------------------------===//
// AveragePoolOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(AveragePoolOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> pooled;
  if (failed(checkPooling(shapeOf(op.getInput()),
                          Window::of(op, op.getKernelShape()),
                          op.getChannelsLast(), error, pooled)))
    return failure();
  types.push_back(RankedTensorType::get(pooled, elementOf(op.getInput())));
  return success();
}
MPC_INFER(AveragePoolOp, inferTypes)

LogicalResult
AveragePoolOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                             ArrayRef<bool> needed,
                             MutableArrayRef<Value> operandGrads) {
  if (needed[0])
    operandGrads[0] = AveragePoolGradOp::create(
        builder, gradientLoc(getLoc()), resultGrads[0], shapeOf(getInput()),
        getKernelShape(), getStrides(), getDilations(), getPadsBegin(),
        getPadsEnd(), getCountIncludePad(), getChannelsLast());
  return success();
}

MPC_OP_FACTS(AveragePoolOp, Follow, countFlops(getResult(), getKernelShape()),
             "mean of a window, added in f32")

bool AveragePoolOp::isChannelsLast() { return getChannelsLast(); }
void AveragePoolOp::setChannelsLast() { setChannelsLast(true); }
SmallVector<unsigned> AveragePoolOp::getImageOperands() { return {0}; }
SmallVector<unsigned> AveragePoolOp::getImageResults() { return {0}; }

StringRef AveragePoolOp::getKernelName() { return "average_pool"; }
SmallVector<int64_t> AveragePoolOp::getKernelAttributes() {
  return kernelAttributes(*this, {getChannelsLast(), getCountIncludePad()});
}

//===----------------------------------------------------------------------===//
// AveragePoolGradOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(AveragePoolGradOp::Adaptor op,
                                const OpError &error,
                                SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> pooled;
  if (failed(checkPoolingGradient(op, error, pooled)))
    return failure();
  types.push_back(
      RankedTensorType::get(op.getInputShape(), elementOf(op.getGrad())));
  return success();
}
MPC_INFER(AveragePoolGradOp, inferTypes)

LogicalResult
AveragePoolGradOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                 ArrayRef<bool> needed,
                                 MutableArrayRef<Value> operandGrads) {
  if (needed[0])
    operandGrads[0] = AveragePoolOp::create(
        builder, gradientLoc(getLoc()), resultGrads[0], getKernelShape(),
        getStrides(), getDilations(), getPadsBegin(), getPadsEnd(),
        getCountIncludePad(), getChannelsLast());
  return success();
}

MPC_OP_FACTS(AveragePoolGradOp, Follow, countFlops(getGrad(), getKernelShape()),
             "gradients of windows that overlap are added in f32")

bool AveragePoolGradOp::isChannelsLast() { return getChannelsLast(); }
void AveragePoolGradOp::setChannelsLast() {
  setInputShape(toChannelsLast(getInputShape()));
  setChannelsLast(true);
}
SmallVector<unsigned> AveragePoolGradOp::getImageOperands() { return {0}; }
SmallVector<unsigned> AveragePoolGradOp::getImageResults() { return {0}; }

StringRef AveragePoolGradOp::getKernelName() { return "average_pool_grad"; }
SmallVector<int64_t> AveragePoolGradOp::getKernelAttributes() {
  return kernelAttributes(*this, {getChannelsLast(), getCountIncludePad()});
}

//===----------------------------------------------------------------------===//
// GlobalAveragePoolOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(GlobalAveragePoolOp::Adaptor op,
                                const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> input = shapeOf(op.getInput());
  if (input.size() < 3) // global_average_pool_c1
    return error("the image must have rank 3 or more, but has rank ",
                 input.size());
  SmallVector<int64_t> result(input);
  for (int64_t dim : spatialDims(input.size(), op.getChannelsLast()))
    result[dim] = 1;
  types.push_back(RankedTensorType::get(result, elementOf(op.getInput())));
  return success();
}
MPC_INFER(GlobalAveragePoolOp, inferTypes)

/// Each of the n elements of a mean gets 1/n of its gradient.
LogicalResult
GlobalAveragePoolOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                   ArrayRef<bool> needed,
                                   MutableArrayRef<Value> operandGrads) {
  if (!needed[0])
    return success();
  Location loc = gradientLoc(getLoc());
  RankedTensorType type = getInput().getType();
  double count = ShapedType::getNumElements(
      spatialExtents(type.getShape(), getChannelsLast()));
  Value factor = createScalarLike(builder, loc, resultGrads[0], 1 / count);
  Value each = MulOp::create(builder, loc, resultGrads[0], factor);
  operandGrads[0] = BroadcastToOp::create(builder, loc, type, each);
  return success();
}

MPC_OP_FACTS(GlobalAveragePoolOp, Internal, countElements(getInput()),
             "mean of an image, added in f32")

bool GlobalAveragePoolOp::isChannelsLast() { return getChannelsLast(); }
void GlobalAveragePoolOp::setChannelsLast() { setChannelsLast(true); }
SmallVector<unsigned> GlobalAveragePoolOp::getImageOperands() { return {0}; }
SmallVector<unsigned> GlobalAveragePoolOp::getImageResults() { return {0}; }

LogicalResult
GlobalAveragePoolOp::lowerToLinalg(OpBuilder &builder,
                                   SmallVectorImpl<Value> &results) {
  ArrayRef<int64_t> shape = shapeOf(getInput());
  Emitter emit(builder, getLoc(), shape, getComputeType(getInput()));
  SmallVector<int64_t> spatial = spatialDims(shape.size(), getChannelsLast());
  Value sum = emit.sum(spatial, {{getInput(), emit.all()}},
                       [](Scalars, ValueRange v) { return v[0]; });
  double count = emit.count(spatial);
  Value mean = emit.combine(sum, [&](Scalars s, ValueRange v) {
    return s.div(v[0], s.constant(count, v[0]));
  });
  mean = emit.round(
      mean, RankedTensorType::get(shapeOf(mean), getType().getElementType()));
  results.push_back(emitReshape(builder, getLoc(), mean, getType().getShape()));
  return success();
}
