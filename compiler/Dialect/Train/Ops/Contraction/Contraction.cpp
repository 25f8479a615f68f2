//===- Contraction.cpp - Convolution --------------------------------------===//

#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Ops/Window/Window.h"
#include "compiler/Support/Locations.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

//===----------------------------------------------------------------------===//
// Common helpers
//===----------------------------------------------------------------------===//

namespace {

/// Shapes and attributes of a forward convolution.
struct Convolution {
  ArrayRef<int64_t> input, weight;
  Window window;
  int64_t group;
  bool channelsLast;

  int64_t channels() const {
    return input[channelDim(input.size(), channelsLast)];
  }
};

} // namespace

/// Checks a convolution and computes the shape of its result.
static LogicalResult checkConvolution(const Convolution &conv,
                                      const OpError &error,
                                      SmallVectorImpl<int64_t> &result) {
  size_t rank = conv.input.size();
  if (rank < 3 || rank > 4 || conv.weight.size() != rank) // conv_c1
    return error("input and weight must both have rank 3 or 4, but have ranks ",
                 rank, " and ", conv.weight.size());

  int64_t outputs = conv.weight[0];
  if (conv.group < 1 || outputs % conv.group != 0) // conv_c2
    return error("'group' must divide the output channels, ", outputs,
                 ", but is ", conv.group);
  if (conv.channels() % conv.group != 0 ||
      conv.channels() / conv.group != conv.weight[1]) // conv_c2
    return error(
        "the input must have ", conv.group, " x ", conv.weight[1],
        " channels (groups times the weight's second extent), but has ",
        conv.channels());

  SmallVector<int64_t> spatial;
  if (failed(slideWindow(conv.window,
                         spatialExtents(conv.input, conv.channelsLast), error,
                         spatial)))
    return failure();
  result = imageShape(conv.input[0], outputs, spatial, conv.channelsLast);
  return success();
}

/// Checks the incoming gradient of the result of `conv`.
static LogicalResult checkGradient(const Convolution &conv, Value grad,
                                   const OpError &error) {
  SmallVector<int64_t> expected;
  if (failed(checkConvolution(conv, error, expected)))
    return failure();
  return checkShape("grad", grad, expected, error); // conv_c3
}

/// The attributes of the catalog's convolution kernels.
static SmallVector<int64_t> kernelAttributes(bool channelsLast, int64_t group,
                                             const Window &window) {
  SmallVector<int64_t> attributes{channelsLast, group};
  window.appendGeometry(attributes);
  return attributes;
}

/// One multiply-add for each element of the result, input channel of its group
/// and kernel position. The gradients have as many.
static int64_t countFlops(Value result, ArrayRef<int64_t> weight) {
  return 2 * countElements(result) *
         ShapedType::getNumElements(weight.drop_front());
}

//===----------------------------------------------------------------------===//
// ConvOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(ConvOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> weight = shapeOf(op.getWeight());
  Convolution conv{
      shapeOf(op.getInput()), weight,
      Window::of(op, weight.drop_front(std::min<size_t>(2, weight.size()))),
      static_cast<int64_t>(op.getGroup()), op.getChannelsLast()};
  SmallVector<int64_t> result;
  if (failed(checkConvolution(conv, error, result)))
    return failure();
  if (op.getBias() &&
      failed(checkShape("bias", op.getBias(), weight[0], error))) // conv_c2
    return failure();
  types.push_back(RankedTensorType::get(result, elementOf(op.getInput())));
  return success();
}
MPC_INFER(ConvOp, inferTypes)

LogicalResult ConvOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                    ArrayRef<bool> needed,
                                    MutableArrayRef<Value> operandGrads) {
  Location loc = gradientLoc(getLoc());
  Value grad = resultGrads[0];
  if (needed[0])
    operandGrads[0] = ConvGradInputOp::create(
        builder, loc, grad, getWeight(), shapeOf(getInput()), getStrides(),
        getDilations(), getPadsBegin(), getPadsEnd(), getGroup(),
        getChannelsLast());
  if (needed[1])
    operandGrads[1] = ConvGradWeightOp::create(
        builder, loc, grad, getInput(), shapeOf(getWeight()).drop_front(2),
        getStrides(), getDilations(), getPadsBegin(), getPadsEnd(), getGroup(),
        getChannelsLast());
  if (getBias() && needed[2]) {
    int64_t rank = shapeOf(grad).size();
    SmallVector<int64_t> axes;
    for (int64_t dim = 0; dim < rank; ++dim)
      if (dim != channelDim(rank, getChannelsLast()))
        axes.push_back(dim);
    operandGrads[2] =
        ReduceSumOp::create(builder, loc, grad, axes, /*keepdims=*/false);
  }
  return success();
}

ErrorPropagation ConvOp::getErrorPropagation(unsigned) {
  return ErrorPropagation::Contracted;
}
ErrorPropagation ConvGradInputOp::getErrorPropagation(unsigned) {
  return ErrorPropagation::Contracted;
}
ErrorPropagation ConvGradWeightOp::getErrorPropagation(unsigned) {
  return ErrorPropagation::Contracted;
}

MPC_OP_FACTS(ConvOp, Low, countFlops(getResult(), shapeOf(getWeight())),
             "convolution: 16-bit operands, sums in f32")

bool ConvOp::isChannelsLast() { return getChannelsLast(); }
void ConvOp::setChannelsLast() { setChannelsLast(true); }
SmallVector<unsigned> ConvOp::getImageOperands() { return {0}; }
SmallVector<unsigned> ConvOp::getImageResults() { return {0}; }

StringRef ConvOp::getKernelName() { return getBias() ? "conv_bias" : "conv"; }
SmallVector<int64_t> ConvOp::getKernelAttributes() {
  return kernelAttributes(getChannelsLast(), getGroup(), Window::of(*this, {}));
}

//===----------------------------------------------------------------------===//
// ConvGradInputOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(ConvGradInputOp::Adaptor op,
                                const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> weight = shapeOf(op.getWeight());
  Convolution conv{
      op.getInputShape(), weight,
      Window::of(op, weight.drop_front(std::min<size_t>(2, weight.size()))),
      static_cast<int64_t>(op.getGroup()), op.getChannelsLast()};
  if (llvm::any_of(conv.input, [](int64_t extent) { return extent < 1; }))
    return error("'input_shape' must be positive, but is [", conv.input, "]");
  if (failed(checkGradient(conv, op.getGrad(), error)))
    return failure();
  types.push_back(RankedTensorType::get(conv.input, elementOf(op.getGrad())));
  return success();
}
MPC_INFER(ConvGradInputOp, inferTypes)

LogicalResult
ConvGradInputOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                               ArrayRef<bool> needed,
                               MutableArrayRef<Value> operandGrads) {
  Location loc = gradientLoc(getLoc());
  if (needed[0])
    operandGrads[0] = ConvOp::create(
        builder, loc, resultGrads[0], getWeight(), /*bias=*/Value(),
        getStrides(), getDilations(), getPadsBegin(), getPadsEnd(), getGroup(),
        getChannelsLast());
  if (needed[1])
    operandGrads[1] = ConvGradWeightOp::create(
        builder, loc, getGrad(), resultGrads[0],
        shapeOf(getWeight()).drop_front(2), getStrides(), getDilations(),
        getPadsBegin(), getPadsEnd(), getGroup(), getChannelsLast());
  return success();
}

MPC_OP_FACTS(ConvGradInputOp, Low, countFlops(getGrad(), shapeOf(getWeight())),
             "convolution: 16-bit operands, sums in f32")

bool ConvGradInputOp::isChannelsLast() { return getChannelsLast(); }
void ConvGradInputOp::setChannelsLast() {
  setInputShape(toChannelsLast(getInputShape()));
  setChannelsLast(true);
}
SmallVector<unsigned> ConvGradInputOp::getImageOperands() { return {0}; }
SmallVector<unsigned> ConvGradInputOp::getImageResults() { return {0}; }

StringRef ConvGradInputOp::getKernelName() { return "conv_grad_input"; }
SmallVector<int64_t> ConvGradInputOp::getKernelAttributes() {
  return kernelAttributes(getChannelsLast(), getGroup(), Window::of(*this, {}));
}

//===----------------------------------------------------------------------===//
// ConvGradWeightOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(ConvGradWeightOp::Adaptor op,
                                const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> input = shapeOf(op.getInput());
  ArrayRef<int64_t> grad = shapeOf(op.getGrad());
  ArrayRef<int64_t> kernel = op.getKernelShape();
  auto group = static_cast<int64_t>(op.getGroup());
  if (grad.size() < 3 || grad.size() != input.size()) // conv_c1
    return error("grad and input must both have rank 3 or 4, but have ranks ",
                 grad.size(), " and ", input.size());
  if (group < 1) // conv_c2
    return error("'group' must be at least 1, but is ", group);

  size_t rank = grad.size();
  int64_t outputs = grad[channelDim(rank, op.getChannelsLast())];
  int64_t channels = input[channelDim(rank, op.getChannelsLast())];
  SmallVector<int64_t> weight{outputs, channels / group};
  llvm::append_range(weight, kernel);
  Convolution conv{input, weight, Window::of(op, kernel), group,
                   op.getChannelsLast()};
  if (failed(checkGradient(conv, op.getGrad(), error)))
    return failure();
  types.push_back(pinnedType(weight, op.getGrad()));
  return success();
}
MPC_INFER(ConvGradWeightOp, inferTypes)

LogicalResult
ConvGradWeightOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                ArrayRef<bool> needed,
                                MutableArrayRef<Value> operandGrads) {
  Location loc = gradientLoc(getLoc());
  if (needed[0])
    operandGrads[0] = ConvOp::create(
        builder, loc, getInput(), resultGrads[0], /*bias=*/Value(),
        getStrides(), getDilations(), getPadsBegin(), getPadsEnd(), getGroup(),
        getChannelsLast());
  if (needed[1])
    operandGrads[1] = ConvGradInputOp::create(
        builder, loc, getGrad(), resultGrads[0], shapeOf(getInput()),
        getStrides(), getDilations(), getPadsBegin(), getPadsEnd(), getGroup(),
        getChannelsLast());
  return success();
}

MPC_OP_FACTS(ConvGradWeightOp, Low, countFlops(getGrad(), getType().getShape()),
             "convolution: 16-bit operands; sums and result in f32")
bool ConvGradWeightOp::isOperandPinned(unsigned) { return false; }
bool ConvGradWeightOp::isResultPinned(unsigned) { return true; }

bool ConvGradWeightOp::isChannelsLast() { return getChannelsLast(); }
void ConvGradWeightOp::setChannelsLast() { setChannelsLast(true); }
SmallVector<unsigned> ConvGradWeightOp::getImageOperands() { return {0, 1}; }
SmallVector<unsigned> ConvGradWeightOp::getImageResults() { return {}; }

StringRef ConvGradWeightOp::getKernelName() { return "conv_grad_weight"; }
SmallVector<int64_t> ConvGradWeightOp::getKernelAttributes() {
  return kernelAttributes(getChannelsLast(), getGroup(), Window::of(*this, {}));
}
