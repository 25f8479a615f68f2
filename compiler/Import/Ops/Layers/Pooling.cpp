//===- Pooling.cpp - Import of pooling ------------------------------------===//

#include "compiler/Import/Ops/Layers/Window.h"
#include "compiler/Import/Ops/Math/Power.h"
#include "compiler/Import/Ops/Training/Backward.h"

#include <limits>

using namespace mlir;
using namespace mpc;

/// Reads the window of any kind of pooling.
static std::optional<Window> readPool(ImportedNode &node, Value input) {
  auto kernel = node.intsAttr("kernel_shape");
  if (node.failed())
    return std::nullopt;
  size_t rank = shapeOf(input).size();
  if (rank < 3) {
    node.shapeError() << "the image has no spatial dimension";
    return std::nullopt;
  }
  if (!kernel || kernel->size() != rank - 2) {
    node.error() << Fault::BadAttribute << "attribute 'kernel_shape' must have "
                 << rank - 2 << " entries";
    return std::nullopt;
  }
  for (int64_t extent : *kernel) {
    if (extent < 1 || extent > (int64_t(1) << 31) - 1) {
      node.error() << Fault::BadAttribute << "attribute 'kernel_shape' holds "
                   << extent << "; entries must be at least 1 and below 2^31";
      return std::nullopt;
    }
  }
  return readWindow(node, input, *kernel, /*isPooling=*/true);
}

static SmallVector<NamedAttribute> windowAttributes(ImportedNode &node,
                                                    const Window &window) {
  return {node.i64s("kernel_shape", window.kernel),
          node.i64s("strides", window.strides),
          node.i64s("dilations", window.dilations),
          node.i64s("pads_begin", window.padsBegin),
          node.i64s("pads_end", window.padsEnd)};
}

/// The number of positions of the window per dimension.
static SmallVector<int64_t> positionsOf(const Window &window,
                                        ArrayRef<int64_t> image) {
  SmallVector<int64_t> positions;
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    int64_t span = (window.kernel[i] - 1) * window.dilations[i] + 1;
    int64_t room =
        image[2 + i] + window.padsBegin[i] + window.padsEnd[i] - span;
    positions.push_back(room / window.strides[i] + 1);
  }
  return positions;
}

/// The catalog's kernels support windows of up to 255 elements in up to two
/// dimensions; each window must cover part of the image.
static bool hasKernel(const Window &window, ArrayRef<int64_t> image) {
  if (image.size() > 4 || product(window.kernel) > 255)
    return false;
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    int64_t span = (window.kernel[i] - 1) * window.dilations[i] + 1;
    // Windows without dilation, or on images no smaller than their span, are
    // never empty.
    if (std::max(window.padsBegin[i], window.padsEnd[i]) >= span ||
        (window.dilations[i] > 1 && image[2 + i] < span))
      return false;
  }
  return true;
}

/// The elements of each window: [N, C, elements, positions].
static Value unfold(ImportedNode &node, Value input, const Window &window,
                    double padding) {
  SmallVector<NamedAttribute> attributes = windowAttributes(node, window);
  attributes.push_back(
      node.attr("padding", node.graph.builder.getF64FloatAttr(padding)));
  Value windows = node.emit<train::UnfoldOp>(input, attributes);
  if (!windows)
    return nullptr;
  ArrayRef<int64_t> shape = shapeOf(windows);
  size_t spatial = window.kernel.size();
  return node.reshape(windows, {shape[0], shape[1], product(window.kernel),
                                product(shape.take_back(spatial))});
}

/// The positions of the windows' elements on the image (-1 for padding), in
/// row-major or, with `columnMajor`, column-major order: [elements, positions].
static std::vector<int64_t> sourcesOf(const Window &window,
                                      ArrayRef<int64_t> image,
                                      ArrayRef<int64_t> positions,
                                      bool columnMajor) {
  int64_t taps = product(window.kernel), count = product(positions);
  std::vector<int64_t> sources;
  size_t spatial = positions.size();
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t position = 0; position < count; ++position) {
      int64_t restTap = tap, rest = position;
      SmallVector<int64_t> at(spatial);
      bool isInside = true;
      for (size_t i = spatial; i-- > 0;) {
        at[i] = rest % positions[i] * window.strides[i] - window.padsBegin[i] +
                restTap % window.kernel[i] * window.dilations[i];
        rest /= positions[i];
        restTap /= window.kernel[i];
        isInside &= at[i] >= 0 && at[i] < image[2 + i];
      }
      int64_t source = 0;
      for (size_t i = 0; i < spatial; ++i) {
        size_t dim = columnMajor ? spatial - 1 - i : i;
        source = source * image[2 + dim] + at[dim];
      }
      sources.push_back(isInside ? source : -1);
    }
  return sources;
}

/// Sets output 1: the positions in the whole input of the elements of windows
/// that `first` selects, in row-major or, with `columnMajor`, column-major
/// order.
static LogicalResult setIndices(ImportedNode &node, Value first,
                                const Window &window, ArrayRef<int64_t> image,
                                bool columnMajor) {
  SmallVector<int64_t> positions = positionsOf(window, image);
  int64_t channels = image[0] * image[1], count = product(positions);
  int64_t taps = product(window.kernel);
  SmallVector<int64_t> shape = {image[0], image[1]};
  llvm::append_range(shape, positions);
  if (!node.fitsConstant({taps, count}))
    return failure();
  first = node.reshape(first, {channels, count});
  Value sources = node.integers(
      sourcesOf(window, image, positions, columnMajor), taps * count);
  // The index of element `first` of a window in a table whose rows are windows.
  Value which = node.integerOp(
      train::IntegerOperation::Add,
      node.integerOp(train::IntegerOperation::Mul, first,
                     node.numberLike(first, count)),
      node.integers(llvm::to_vector(llvm::seq<int64_t>(0, count)), count));
  Value source = node.emit<train::GatherOp>({sources, which});
  int64_t pixels = product(ArrayRef<int64_t>(image).drop_front(2));
  Value starts = node.integers(
      node.makeIndexList(channels, [&](int64_t i) { return i * pixels; }),
      {channels, 1});
  Value index = node.integerOp(train::IntegerOperation::Add, source, starts);
  return node.setOutput(1, node.reshape(index, shape));
}

/// The largest element of each window and, if output 1 is used, its position in
/// the whole input. The gradient goes to the first of equal elements.
static LogicalResult poolByUnfolding(ImportedNode &node, Value input,
                                     const Window &window, bool columnMajor) {
  SmallVector<int64_t> image(shapeOf(input));
  Value windows =
      unfold(node, input, window, -std::numeric_limits<double>::infinity());
  Value first = node.emit<train::ArgExtremeOp>(windows, node.i64("axis", 2));
  if (!first)
    return failure();
  SmallVector<int64_t> positions = positionsOf(window, image);
  int64_t channels = image[0] * image[1], count = product(positions);
  int64_t taps = product(window.kernel);
  SmallVector<int64_t> shape = {image[0], image[1]};
  llvm::append_range(shape, positions);
  first = node.reshape(first, {channels, count});
  // A table [channel, element, position]: channels and positions come from the
  // result's position.
  Value taken = node.emit<train::FlatIndexOp>(
      node.reshape(first, {channels, 1, count}),
      {node.i64s("axes", 1), node.i64s("extents", {channels, taps, count})});
  Value flat = node.reshape(windows, channels * taps * count);
  Value result = node.emit<train::GatherOp>({flat, taken});
  if (failed(node.setOutput(0, node.reshape(result, shape))))
    return failure();
  return node.isOutputUsed(1)
             ? setIndices(node, first, window, image, columnMajor)
             : success();
}

static LogicalResult importMaxPool(ImportedNode &node) {
  Value input = node.floatInput(0);
  auto window = readPool(node, input);
  bool columnMajor = node.boolAttr("storage_order", false);
  if (node.failed())
    return failure();
  SmallVector<int64_t> image(shapeOf(input));
  if (!hasKernel(*window, image))
    return poolByUnfolding(node, input, *window, columnMajor);
  Operation *pool =
      node.emitOp<train::MaxPoolOp>(input, windowAttributes(node, *window));
  if (!pool || failed(node.setOutput(0, pool->getResult(0))))
    return failure();
  if (!node.isOutputUsed(1))
    return success();
  // The kernel's indices are unsigned bytes.
  Value first =
      node.castTo(pool->getResult(1), node.graph.builder.getI64Type());
  first = node.integerOp(train::IntegerOperation::And, first,
                         node.numberLike(first, 255));
  return setIndices(node, first, *window, image, columnMajor);
}

//===----------------------------------------------------------------------===//
// MaxPoolGrad
//===----------------------------------------------------------------------===//

/// The pooling op from which the import of MaxPool computed these indices; null
/// for other indices. All ops of the import have the location of its node.
static train::MaxPoolOp poolOf(Value indices) {
  while (Operation *op = indices.getDefiningOp()) {
    if (auto pool = dyn_cast<train::MaxPoolOp>(op))
      return pool;
    // The second operand selects elements of the table of sources.
    bool isTable = isa<train::GatherOp>(op);
    if (!isTable && !isa<train::ReshapeOp, train::IntegerOp, train::CastOp>(op))
      return nullptr;
    Value from = op->getOperand(isTable ? 1 : 0);
    if (!from.getDefiningOp() || from.getDefiningOp()->getLoc() != op->getLoc())
      return nullptr;
    indices = from;
  }
  return nullptr;
}

/// Inputs dY and the positions in X of the largest elements of windows. If the
/// forward op is a kernel, so is the gradient.
static LogicalResult importMaxPoolGrad(ImportedNode &node) {
  Value grad = node.floatInput(0), indices = node.intInput(1);
  bool columnMajor = node.boolAttr("storage_order", false);
  for (StringRef name : {"kernel_shape", "strides", "dilations", "pads"})
    node.intsAttr(name);
  node.intAttr("ceil_mode", 0);
  node.stringAttr("auto_pad", "NOTSET");
  if (node.failed())
    return failure();
  if (shapeOf(indices) != shapeOf(grad))
    return node.shapeError() << "the indices must have the gradient's shape";
  if (train::MaxPoolOp pool = poolOf(indices)) {
    return node.setOutput(
        0, node.emit<train::MaxPoolGradOp>(
               {grad, pool.getIndices()},
               {node.i64s("input_shape", shapeOf(pool.getInput())),
                node.i64s("kernel_shape", pool.getKernelShape()),
                node.i64s("strides", pool.getStrides()),
                node.i64s("dilations", pool.getDilations()),
                node.i64s("pads_begin", pool.getPadsBegin()),
                node.i64s("pads_end", pool.getPadsEnd())}));
  }
  SmallVector<int64_t> image = node.shapeOfOutput(0, shapeOf(grad));
  if (node.failed())
    return failure();
  int64_t count = product(shapeOf(grad)), size = product(image);
  Value sums = node.emit<train::EmbeddingGradOp>(
      {node.reshape(grad, count), node.reshape(indices, count)},
      node.i64("rows", size));
  if (!columnMajor)
    return node.setOutput(0, node.reshape(sums, image));
  // Column-major: the spatial dimensions are in reverse order.
  SmallVector<int64_t> stored(image), permutation = {0, 1};
  std::reverse(stored.begin() + 2, stored.end());
  for (int64_t dim = image.size() - 1; dim >= 2; --dim)
    permutation.push_back(dim);
  return node.setOutput(
      0, node.transpose(node.reshape(sums, stored), permutation));
}

/// Sums over windows, one dimension after the other; each is divided by
/// `divisor(dim, position)`.
static Value sumWindows(ImportedNode &node, Value value, const Window &window,
                        llvm::function_ref<double(size_t, int64_t)> divisor) {
  if (node.failed())
    return nullptr;
  SmallVector<int64_t> image(shapeOf(value));
  SmallVector<int64_t> positions = positionsOf(window, image);
  for (size_t dim = 0; dim < positions.size(); ++dim) {
    std::vector<int64_t> sources;
    KnownTensor weights{
        node.graph.floatType, {positions[dim], window.kernel[dim]}, {}, {}};
    if (!node.fitsConstant(weights.shape))
      return nullptr;
    for (int64_t at = 0; at < positions[dim]; ++at) {
      double weight = roundTo(node.graph.floatType, 1 / divisor(dim, at));
      for (int64_t tap = 0; tap < window.kernel[dim]; ++tap) {
        int64_t source = at * window.strides[dim] - window.padsBegin[dim] +
                         tap * window.dilations[dim];
        sources.push_back(source >= 0 && source < image[2 + dim] ? source : -1);
        weights.floats.push_back(weight);
      }
    }
    Value table = train::ConstantOp::create(node.graph.builder, node.loc,
                                            ElementsAttr(weights.attribute()));
    value = node.emit<train::ResampleOp>(
        {value, node.integers(sources, weights.shape), table},
        node.i64("axis", 2 + dim));
  }
  return value;
}

static Value averagePool(ImportedNode &node, Value input) {
  auto window = readPool(node, input);
  bool includePad = node.boolAttr("count_include_pad", false);
  if (node.failed())
    return nullptr;
  SmallVector<int64_t> image(shapeOf(input));
  SmallVector<NamedAttribute> attributes = windowAttributes(node, *window);
  if (includePad)
    attributes.push_back(node.flag("count_include_pad"));
  if (hasKernel(*window, image) && !(includePad && window->dimWithCeil))
    return node.emit<train::AveragePoolOp>(input, attributes);
  // Elements count if they lie on the image or, with `includePad`, in the
  // model's pads.
  auto divisor = [&](size_t dim, int64_t at) {
    int64_t low = includePad ? -window->padsBegin[dim] : 0;
    int64_t high =
        image[2 + dim] + (includePad ? window->modelPadsEnd[dim] : 0);
    int64_t count = 0;
    for (int64_t tap = 0; tap < window->kernel[dim]; ++tap) {
      int64_t source = at * window->strides[dim] - window->padsBegin[dim] +
                       tap * window->dilations[dim];
      count += source >= low && source < high;
    }
    return double(std::max<int64_t>(count, 1));
  };
  return sumWindows(node, input, *window, divisor);
}

static LogicalResult importAveragePool(ImportedNode &node) {
  return node.setOutput(0, averagePool(node, node.floatInput(0)));
}

/// The only input is dY; attributes are those of the pooling.
static LogicalResult importAveragePoolGrad(ImportedNode &node) {
  Value grad = node.floatInput(0);
  if (node.failed())
    return failure();
  Value image = leafOf(node, node.shapeOfOutput(0, shapeOf(grad)));
  return node.setOutput(
      0, gradientOf(node, averagePool(node, image), grad, image));
}

/// The root of order `p` of a sum of powers of magnitudes.
static Value norm(ImportedNode &node, Value input, int64_t p,
                  llvm::function_ref<Value(Value)> sum) {
  if (!node.failed() && (p < 1 || p > 32))
    node.error() << Fault::BadAttribute
                 << "attribute 'p' must be from 1 to 32, but is " << p;
  Value size = p % 2 == 0 ? input : node.emit<train::AbsOp>(input);
  Value powers = sum(emitPower(node, size, double(p)));
  return p == 1 ? powers : emitRoot(node, powers, double(p));
}

static LogicalResult importLpPool(ImportedNode &node) {
  Value input = node.floatInput(0);
  auto window = readPool(node, input);
  int64_t p = node.intAttr("p", 2);
  if (node.failed())
    return failure();
  return node.setOutput(0, norm(node, input, p, [&](Value terms) {
                          return sumWindows(
                              node, terms, *window,
                              [](size_t, int64_t) { return 1.0; });
                        }));
}

/// Flattens all spatial dimensions, and computes the shape of a reduction over
/// them.
static Value flattenImage(ImportedNode &node, Value input,
                          SmallVectorImpl<int64_t> &kept) {
  if (node.failed())
    return nullptr;
  ArrayRef<int64_t> shape = shapeOf(input);
  if (shape.size() < 3) {
    node.shapeError() << "input 0 has no spatial dimension";
    return nullptr;
  }
  kept.assign(shape.begin(), shape.begin() + 2);
  kept.resize(shape.size(), 1);
  return node.reshape(input,
                      {shape[0] * shape[1], product(shape.drop_front(2))});
}

static LogicalResult importGlobalLpPool(ImportedNode &node) {
  Value input = node.floatInput(0);
  int64_t p = node.intAttr("p", 2);
  SmallVector<int64_t> kept;
  Value rows = flattenImage(node, input, kept);
  Value result = norm(node, rows, p, [&](Value terms) {
    return node.emit<train::ReduceSumOp>(terms, node.i64s("axes", 1));
  });
  return node.setOutput(0, node.reshape(result, kept));
}

/// The gradient goes to the first of equal elements, as in MaxPool.
static LogicalResult importGlobalMaxPool(ImportedNode &node) {
  Value input = node.floatInput(0);
  SmallVector<int64_t> kept;
  Value rows = flattenImage(node, input, kept);
  if (!rows)
    return failure();
  SmallVector<int64_t> shape(shapeOf(rows));
  Value first = node.emit<train::ArgExtremeOp>(rows, node.i64("axis", 1));
  Value taken = node.emit<train::FlatIndexOp>(
      node.reshape(first, {shape[0], 1}),
      {node.i64s("axes", 1), node.i64s("extents", shape)});
  Value result = node.emit<train::GatherOp>(
      {node.reshape(rows, shape[0] * shape[1]), taken});
  return node.setOutput(0, node.reshape(result, kept));
}

static LogicalResult importGlobalAveragePool(ImportedNode &node) {
  Value input = node.floatInput(0);
  if (node.failed())
    return failure();
  if (shapeOf(input).size() < 3)
    return node.shapeError() << "input 0 has no spatial dimension";
  return node.setOutput(0, node.emit<train::GlobalAveragePoolOp>(input));
}

ArrayRef<OpRow> mpc::poolingOps() {
  static const OpRow rows[] = {
      {"MaxPool", 12, 1, 1, 2, importMaxPool},
      {"AveragePool", 11, 1, 1, 1, importAveragePool},
      {"MaxPoolGrad", 9, 2, 2, 1, importMaxPoolGrad},
      {"AveragePoolGrad", 9, 1, 1, 1, importAveragePoolGrad},
      {"LpPool", 11, 1, 1, 1, importLpPool},
      {"GlobalMaxPool", 1, 1, 1, 1, importGlobalMaxPool},
      {"GlobalLpPool", 2, 1, 1, 1, importGlobalLpPool},
      {"GlobalAveragePool", 1, 1, 1, 1, importGlobalAveragePool},
  };
  return rows;
}
