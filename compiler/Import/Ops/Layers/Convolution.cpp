//===- Convolution.cpp - Import of convolutions ---------------------------===//

#include "compiler/Import/Ops/Layers/Window.h"
#include "compiler/Import/Ops/Training/Backward.h"

using namespace mlir;
using namespace mpc;

static SmallVector<NamedAttribute> geometry(ImportedNode &node,
                                            const Window &window) {
  return {node.i64s("strides", window.strides),
          node.i64s("dilations", window.dilations),
          node.i64s("pads_begin", window.padsBegin),
          node.i64s("pads_end", window.padsEnd)};
}

/// Adds one number to each channel of an image.
static Value addBias(ImportedNode &node, Value image, Value bias) {
  if (!image || !bias)
    return image;
  SmallVector<int64_t> shape(shapeOf(image).size(), 1);
  shape[1] = shapeOf(image)[1];
  if (shapeOf(bias) != ArrayRef(shape[1])) {
    node.shapeError() << "the bias must have one element for each of the "
                      << shape[1] << " output channels";
    return nullptr;
  }
  return node.emit<train::AddOp>({image, node.reshape(bias, shape)});
}

/// In three or more dimensions, a matrix product with the unfolded windows.
static Value byUnfolding(ImportedNode &node, ArrayRef<Value> operands,
                         const Window &window, int64_t group) {
  SmallVector<NamedAttribute> attributes = geometry(node, window);
  attributes.push_back(node.i64s("kernel_shape", window.kernel));
  Value windows = node.emit<train::UnfoldOp>(operands[0], attributes);
  if (!windows)
    return nullptr;
  ArrayRef<int64_t> unfolded = shapeOf(windows), filter = shapeOf(operands[1]);
  ArrayRef<int64_t> positions = unfolded.take_back(window.kernel.size());
  int64_t batch = unfolded[0], outputs = filter[0];
  int64_t depth = product(filter.drop_front());
  windows = node.reshape(windows, {batch, group, depth, product(positions)});
  Value weight = node.reshape(operands[1], {1, group, outputs / group, depth});
  SmallVector<int64_t> shape = {batch, outputs};
  llvm::append_range(shape, positions);
  Value result =
      node.reshape(node.emit<train::MatmulOp>({weight, windows}), shape);
  return operands.size() > 2 ? addBias(node, result, operands[2]) : result;
}

/// Emits a convolution; null after an error. The bias may be null.
static Value conv(ImportedNode &node, Value input, Value weight, Value bias) {
  SmallVector<Value> operands = {input, weight};
  if (bias)
    operands.push_back(bias);
  int64_t group = node.intAttr("group", 1);
  auto kernelShape = node.intsAttr("kernel_shape");
  if (node.failed())
    return nullptr;
  ArrayRef<int64_t> image = shapeOf(input), filter = shapeOf(weight);
  ArrayRef<int64_t> kernel =
      filter.drop_front(std::min<size_t>(2, filter.size()));
  if (image.size() < 3)
    node.shapeError() << "input 0 has no spatial dimension";
  else if (filter.size() != image.size())
    node.shapeError() << "the weight must have " << image.size()
                      << " dimensions like the input, but has "
                      << filter.size();
  else if (kernelShape && ArrayRef<int64_t>(*kernelShape) != kernel)
    node.shapeError() << "attribute 'kernel_shape' does not agree with the "
                         "weight";
  else if (group < 1 || group > filter[0] || filter[0] % group != 0)
    node.shapeError() << "attribute 'group' is " << group
                      << ", which does not divide the weight's " << filter[0]
                      << " output channels";
  else if (image[1] % group != 0 || image[1] / group != filter[1])
    node.shapeError() << "the input has " << image[1]
                      << " channels, but the weight expects " << filter[1]
                      << " in each of " << group << " groups";
  if (node.failed())
    return nullptr;
  auto window = readWindow(node, input, kernel, /*isPooling=*/false);
  if (!window)
    return nullptr;
  if (image.size() > 4)
    return byUnfolding(node, operands, *window, group);
  SmallVector<NamedAttribute> attributes = geometry(node, *window);
  attributes.push_back(node.i64("group", group));
  return node.emit<train::ConvOp>(operands, attributes);
}

static LogicalResult importConv(ImportedNode &node) {
  Value input = node.floatInput(0), weight = node.floatInput(1);
  Value bias = node.hasInput(2) ? node.floatInput(2) : Value();
  return node.setOutput(0, conv(node, input, weight, bias));
}

/// Inputs dY, X and W, with the attributes of the op that `forward` imports;
/// outputs dX, dW and dB.
template <auto forward>
static LogicalResult importConvGrad(ImportedNode &node) {
  Value grad = node.floatInput(0);
  SmallVector<Value> leaves = {leaf(node, node.floatInput(1)),
                               leaf(node, node.floatInput(2))};
  Value y = forward(node, leaves[0], leaves[1], Value());
  SmallVector<Value> gradients = gradientsOf(node, y, grad, leaves);
  gradients.push_back(sumToDim(node, grad, 1));
  for (auto [i, gradient] : llvm::enumerate(gradients))
    if (node.failed() ||
        (node.isOutputUsed(i) && failed(node.setOutput(i, gradient))))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// ConvTranspose
//===----------------------------------------------------------------------===//

/// The window of the convolution whose gradient the op is, and the extents of
/// the result.
static std::optional<std::pair<Window, SmallVector<int64_t>>>
transposedWindow(ImportedNode &node, ArrayRef<int64_t> image,
                 ArrayRef<int64_t> kernel) {
  size_t count = kernel.size();
  auto list = [&](StringRef name, int64_t standard, size_t length) {
    auto values = node.intsAttr(name);
    if (!values)
      return SmallVector<int64_t>(length, standard);
    bool fits =
        values->size() == length && llvm::all_of(*values, [&](int64_t value) {
          return value >= 0 && value < (int64_t(1) << 31);
        });
    if (!fits && !node.failed())
      node.error() << Fault::BadAttribute << "attribute '" << name
                   << "' must have " << length << " entries, none negative";
    return fits ? *values : SmallVector<int64_t>(length, standard);
  };
  Window window;
  window.kernel.assign(kernel.begin(), kernel.end());
  window.strides = list("strides", 1, count);
  window.dilations = list("dilations", 1, count);
  SmallVector<int64_t> pads = list("pads", 0, 2 * count);
  SmallVector<int64_t> added = list("output_padding", 0, count);
  SmallVector<int64_t> wanted;
  if (node.hasAttr("output_shape"))
    wanted = list("output_shape", 0, count);
  std::string autoPad = node.stringAttr("auto_pad", "NOTSET");
  bool isUpper = autoPad == "SAME_UPPER",
       isSame = isUpper || autoPad == "SAME_LOWER";
  if (!node.failed() && !isSame && autoPad != "NOTSET" && autoPad != "VALID")
    node.error() << Fault::BadAttribute << "attribute 'auto_pad' is '"
                 << autoPad
                 << "'; known are NOTSET, SAME_UPPER, SAME_LOWER and VALID";
  if (node.failed() || !fitsSpan(node, window))
    return std::nullopt;
  SmallVector<int64_t> result;
  for (size_t i = 0; i < count; ++i) {
    int64_t stride = window.strides[i];
    int64_t span = (kernel[i] - 1) * window.dilations[i] + 1;
    if (stride > kMaxElements / image[2 + i]) {
      node.shapeError() << "the result has more than 2^40 elements in spatial "
                           "dimension "
                        << i;
      return std::nullopt;
    }
    int64_t whole = stride * (image[2 + i] - 1) + added[i] + span;
    int64_t begin = pads[i], end = pads[count + i];
    if (isSame || !wanted.empty()) {
      int64_t extent = wanted.empty() ? image[2 + i] * stride : wanted[i];
      int64_t total = std::max<int64_t>(whole - extent, 0);
      whole = std::max(whole, extent);
      begin = isUpper ? total / 2 : total - total / 2;
      end = total - begin;
    }
    int64_t extent = whole - begin - end;
    bool fits = stride >= 1 && window.dilations[i] >= 1 && extent >= 1 &&
                (extent + begin + end - span) / stride + 1 == image[2 + i];
    if (!fits) {
      node.shapeError() << "no image of " << extent << " elements in spatial "
                        << "dimension " << i << " is convolved to "
                        << image[2 + i];
      return std::nullopt;
    }
    window.padsBegin.push_back(begin);
    window.padsEnd.push_back(end);
    result.push_back(extent);
  }
  return std::make_pair(window, result);
}

/// The gradient of a convolution with respect to its image; in three or more
/// dimensions, a matrix product gives the windows, which are folded.
static Value convTranspose(ImportedNode &node, Value input, Value weight,
                           Value bias) {
  int64_t group = node.intAttr("group", 1);
  auto kernelShape = node.intsAttr("kernel_shape");
  if (node.failed())
    return nullptr;
  ArrayRef<int64_t> image = shapeOf(input), filter = shapeOf(weight);
  if (image.size() < 3 || filter.size() != image.size() ||
      filter[0] != image[1] || group < 1 || image[1] % group != 0) {
    node.shapeError() << "input 0 must be an image, and the weight must have "
                         "its channels, which attribute 'group', "
                      << group << ", must divide";
    return nullptr;
  }
  ArrayRef<int64_t> kernel = filter.drop_front(2);
  if (kernelShape && ArrayRef<int64_t>(*kernelShape) != kernel) {
    node.shapeError() << "attribute 'kernel_shape' does not agree with the "
                         "weight";
    return nullptr;
  }
  auto found = transposedWindow(node, image, kernel);
  if (!found)
    return nullptr;
  auto &[window, extents] = *found;
  int64_t channels = filter[1] * group;
  SmallVector<int64_t> shape = {image[0], channels};
  llvm::append_range(shape, extents);
  SmallVector<NamedAttribute> attributes = geometry(node, window);
  Value result;
  if (image.size() <= 4) {
    attributes.push_back(node.i64s("input_shape", shape));
    attributes.push_back(node.i64("group", group));
    result = node.emit<train::ConvGradInputOp>({input, weight}, attributes);
  } else {
    int64_t positions = product(image.drop_front(2));
    int64_t depth = product(filter.drop_front());
    Value rows =
        node.reshape(input, {image[0], group, image[1] / group, positions});
    Value matrix = node.reshape(weight, {1, group, image[1] / group, depth});
    Value windows =
        node.emit<train::MatmulOp>({matrix, rows}, node.flag("transpose_lhs"));
    SmallVector<int64_t> unfolded = {image[0], channels};
    llvm::append_range(unfolded, kernel);
    llvm::append_range(unfolded, image.drop_front(2));
    attributes.push_back(node.i64s("image_shape", shape));
    result =
        node.emit<train::FoldOp>(node.reshape(windows, unfolded), attributes);
  }
  return addBias(node, result, bias);
}

static LogicalResult importConvTranspose(ImportedNode &node) {
  Value input = node.floatInput(0), weight = node.floatInput(1);
  Value bias = node.hasInput(2) ? node.floatInput(2) : Value();
  return node.setOutput(0, convTranspose(node, input, weight, bias));
}

//===----------------------------------------------------------------------===//
// Col2Im
//===----------------------------------------------------------------------===//

static LogicalResult importCol2Im(ImportedNode &node) {
  Value input = node.floatInput(0);
  SmallVector<int64_t> extents = node.knownInts(1), kernel = node.knownInts(2);
  if (node.failed())
    return failure();
  size_t count = extents.size();
  auto list = [&](StringRef name, int64_t standard, size_t length) {
    auto values = node.intsAttr(name);
    return values && values->size() == length
               ? *values
               : SmallVector<int64_t>(length, standard);
  };
  SmallVector<int64_t> strides = list("strides", 1, count);
  SmallVector<int64_t> dilations = list("dilations", 1, count);
  SmallVector<int64_t> pads = list("pads", 0, 2 * count), positions;
  ArrayRef<int64_t> shape = shapeOf(input);
  bool fits = shape.size() == 3 && kernel.size() == count && count >= 1;
  int64_t taps = 1, total = 1;
  for (size_t i = 0; fits && i < count; ++i) {
    fits = kernel[i] >= 1 && extents[i] >= 1 && strides[i] >= 1 &&
           dilations[i] >= 1 && pads[i] >= 0 && pads[count + i] >= 0 &&
           kernel[i] < (1 << 20) && extents[i] < (1 << 30) &&
           dilations[i] < (1 << 20) && pads[i] < (1 << 30) &&
           pads[count + i] < (1 << 30);
    if (!fits)
      break;
    int64_t room = extents[i] + pads[i] + pads[count + i] -
                   dilations[i] * (kernel[i] - 1) - 1;
    positions.push_back(room < 0 ? 0 : room / strides[i] + 1);
    taps *= kernel[i];
    fits = taps < (1 << 30) &&
           positions.back() <= kMaxElements / std::max<int64_t>(total, 1);
    total *= fits ? positions.back() : 0;
  }
  if (!fits || shape[1] % taps != 0 || shape[2] != total)
    return node.shapeError()
           << "the columns are not those of windows of [" << ArrayRef(kernel)
           << "] on an image of [" << ArrayRef(extents) << "]";
  SmallVector<int64_t> unfolded = {shape[0], shape[1] / taps};
  SmallVector<int64_t> image = unfolded;
  llvm::append_range(unfolded, kernel);
  llvm::append_range(unfolded, positions);
  llvm::append_range(image, extents);
  ArrayRef<int64_t> allPads(pads);
  return node.setOutput(
      0, node.emit<train::FoldOp>(
             node.reshape(input, unfolded),
             {node.i64s("image_shape", image), node.i64s("strides", strides),
              node.i64s("dilations", dilations),
              node.i64s("pads_begin", allPads.take_front(count)),
              node.i64s("pads_end", allPads.take_back(count))}));
}

ArrayRef<OpRow> mpc::convolutionOps() {
  static const OpRow rows[] = {
      {"Conv", 11, 2, 3, 1, importConv},
      {"ConvTranspose", 11, 2, 3, 1, importConvTranspose},
      {"Col2Im", 18, 3, 3, 1, importCol2Im},
      {"com.microsoft.ConvGrad", 1, 3, 3, 3, importConvGrad<conv>},
      {"com.microsoft.ConvTransposeGrad", 1, 3, 3, 3,
       importConvGrad<convTranspose>},
  };
  return rows;
}
