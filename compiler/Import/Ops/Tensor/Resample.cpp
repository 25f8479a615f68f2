//===- Resample.cpp - Import of Resize and repetition ---------------------===//
//
// Resize processes one dimension after the other: each element of the result is
// a weighted sum of few elements, whose places and weights are known at import.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Ops/Training/Backward.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

namespace {

/// The attributes of a Resize.
struct ResizeMode {
  std::string mode, coordinates, nearest;
  double cubic;
  bool antialias, excludeOutside;
};

/// One dimension of a Resize.
struct ResizedDim {
  int64_t from, to;
  double scale;
  bool isScaled = false; ///< The scale is given in the file, in f32.
  double roiBegin = 0, roiEnd = 1;
};

/// The elements and weights that elements of the result are computed from.
struct Taps {
  int64_t count = 1; ///< Number of taps per element of the result.
  std::vector<int64_t> places;
  std::vector<double> weights;
  std::vector<bool> outside; ///< True if the element lies outside of the image.
};

} // namespace

/// The coordinate on the image of element `o` of the result, by ONNX's
/// formulas.
static double coordinateOf(int64_t o, const ResizedDim &dim,
                           const ResizeMode &how) {
  StringRef mode = how.coordinates;
  double x = o, length = dim.from, resized = dim.to;
  // For rounding, divides in f32, like other implementations: there 3 / 0.6 is
  // exactly 5.
  const bool rounds = how.mode == "nearest";
  auto unscaled = [&](double place) {
    return dim.isScaled && rounds ? double(float(place) / float(dim.scale))
                                  : place / dim.scale;
  };
  if (mode == "align_corners")
    return resized == 1 ? 0 : x * (length - 1) / (resized - 1);
  if (mode == "asymmetric")
    return unscaled(x);
  if (mode == "pytorch_half_pixel")
    return resized == 1 ? -0.5 : unscaled(x + 0.5) - 0.5;
  if (mode == "half_pixel_symmetric") {
    double adjustment = resized / (dim.scale * length), center = length / 2;
    return center * (1 - adjustment) + unscaled(x + 0.5) - 0.5;
  }
  if (mode == "tf_crop_and_resize") {
    double part = dim.roiEnd - dim.roiBegin;
    double inside = resized == 1 ? part * (length - 1) / 2
                                 : x * part * (length - 1) / (resized - 1);
    return dim.roiBegin * (length - 1) + inside;
  }
  return unscaled(x + 0.5) - 0.5;
}

/// Keys' cubic kernel with parameter `a`.
static double cubicWeight(double distance, double a) {
  double t = std::fabs(distance);
  if (t <= 1)
    return ((a + 2) * t - (a + 3)) * t * t + 1;
  if (t < 2)
    return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
  return 0;
}

/// Weights of the elements from `first` on, counted from the element before the
/// coordinate; `ratio` in (0, 1] is the distance of the coordinate from it.
static std::vector<double> weightsOf(const ResizeMode &mode, double ratio,
                                     double scale, int64_t &first) {
  first = 0;
  if (mode.mode == "nearest") {
    bool second = mode.nearest == "round_prefer_floor"  ? ratio > 0.5
                  : mode.nearest == "round_prefer_ceil" ? ratio >= 0.5
                  : mode.nearest == "ceil"              ? true
                                                        : ratio == 1;
    first = second;
    return {1};
  }
  bool isCubic = mode.mode == "cubic";
  double stretch = mode.antialias ? std::min(scale, 1.0) : 1.0;
  double reach = isCubic ? 2 : 1;
  first = int64_t(std::floor(-reach / stretch)) + 1;
  int64_t count = 2 - 2 * first;
  std::vector<double> weights;
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    double distance = stretch * (first + i - ratio);
    double weight = isCubic ? cubicWeight(distance, mode.cubic)
                            : std::max(1 - std::fabs(distance), 0.0);
    weights.push_back(weight);
    sum += weight;
  }
  if (mode.antialias)
    for (double &weight : weights)
      weight /= sum;
  return weights;
}

static Taps tapsOf(const ResizeMode &mode, const ResizedDim &dim) {
  Taps taps;
  for (int64_t o = 0; o < dim.to; ++o) {
    double x = coordinateOf(o, dim, mode);
    taps.outside.push_back(mode.coordinates == "tf_crop_and_resize" &&
                           (x < 0 || x > double(dim.from - 1)));
    // Far outside of the image all elements are its last one.
    x = std::clamp(x, -4.0 * dim.from - 8, 4.0 * dim.from + 8);
    double before = std::ceil(x) - 1;
    int64_t first;
    std::vector<double> weights = weightsOf(mode, x - before, dim.scale, first);
    taps.count = weights.size();
    double kept = 0;
    for (auto [i, weight] : llvm::enumerate(weights)) {
      int64_t place = int64_t(before) + first + int64_t(i);
      bool isInside = place >= 0 && place < dim.from;
      if (mode.excludeOutside && !isInside)
        weight = 0;
      kept += weight;
      taps.places.push_back(std::clamp<int64_t>(place, 0, dim.from - 1));
      taps.weights.push_back(weight);
    }
    if (mode.excludeOutside)
      for (int64_t i = 0; i < taps.count; ++i)
        taps.weights[taps.weights.size() - 1 - i] /= kept;
  }
  return taps;
}

static Value floats(ImportedNode &node, ArrayRef<double> values,
                    ArrayRef<int64_t> shape) {
  KnownTensor known{node.graph.floatType,
                    llvm::to_vector(shape),
                    {values.begin(), values.end()},
                    {}};
  return train::ConstantOp::create(node.graph.builder, node.loc,
                                   ElementsAttr(known.attribute()));
}

/// Maximum number of weights of one dimension: an antialiased Resize of a wide
/// image to a narrow one needs few, but a file may request any number.
constexpr int64_t kMaxTaps = int64_t(1) << 22;

static Value resizeAlong(ImportedNode &node, Value value, int64_t axis,
                         const ResizeMode &mode, const ResizedDim &dim) {
  Taps taps = tapsOf(mode, dim);
  if (mode.mode == "nearest")
    return node.pick(value, axis, taps.places);
  SmallVector<int64_t> shape = {dim.to, taps.count};
  return node.emit<train::ResampleOp>({value, node.integers(taps.places, shape),
                                       floats(node, taps.weights, shape)},
                                      node.i64("axis", axis));
}

/// `value`, replaced with `by` at positions i of dimension `axis` for which
/// `outside[i]` is set.
static Value replaceOutside(ImportedNode &node, Value value, int64_t axis,
                            const std::vector<bool> &outside, double by) {
  SmallVector<int64_t> shape(shapeOf(value).size(), 1);
  shape[axis] = outside.size();
  KnownTensor mask{node.graph.builder.getI1Type(),
                   shape,
                   {},
                   {outside.begin(), outside.end()}};
  Value isOutside = train::ConstantOp::create(node.graph.builder, node.loc,
                                              ElementsAttr(mask.attribute()));
  return node.emit<train::SelectOp>({isOutside, node.scalar(by), value});
}

static bool areFinite(ArrayRef<double> numbers) {
  return llvm::all_of(numbers,
                      [](double number) { return std::isfinite(number); });
}

/// The dimensions that a Resize changes, and how; nothing after an error. The
/// image is input `image`; the node of a gradient gives the shape of the result
/// as `to` instead of sizes.
static std::optional<SmallVector<std::pair<int64_t, ResizedDim>>>
resizedDims(ImportedNode &node, ArrayRef<int64_t> shape, unsigned image,
            ArrayRef<int64_t> to) {
  SmallVector<int64_t> axes =
      llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  if (auto given = node.intsAttr("axes")) {
    axes = *given;
    for (int64_t &axis : axes) {
      axis = node.normalizeAxis(axis, shape.size(), "an entry of 'axes'");
      if (!node.failed() && llvm::count(axes, axis) > 1)
        node.error() << "'axes' names dimension " << axis << " twice";
    }
  }
  std::string policy = node.stringAttr("keep_aspect_ratio_policy", "stretch");
  std::vector<double> scales, roi;
  SmallVector<int64_t> sizes;
  auto isGiven = [&](unsigned i) {
    return node.hasInput(i) &&
           ShapedType::getNumElements(node.shapeOfInput(i)) > 0;
  };
  if (image == 0 && isGiven(3))
    sizes = node.knownInts(3);
  else if (isGiven(image + 2))
    scales = node.knownFloats(image + 2);
  else if (to.size() == shape.size() && !node.failed())
    sizes = llvm::map_to_vector(axes, [&](int64_t axis) { return to[axis]; });
  if (isGiven(image + 1))
    roi = node.knownFloats(image + 1);
  if (node.failed())
    return std::nullopt;
  size_t count = axes.size();
  if ((sizes.empty() ? scales.size() : sizes.size()) != count ||
      (!roi.empty() && (roi.size() != 2 * count || !areFinite(roi)))) {
    node.shapeError() << "must have one scale or size (and two finite numbers "
                         "of a roi) for each of the "
                      << count << " dimensions that it changes";
    return std::nullopt;
  }
  SmallVector<std::pair<int64_t, ResizedDim>> dims;
  double common = policy == "not_larger" ? INFINITY : 0;
  if (!sizes.empty() && policy != "stretch")
    for (auto [size, axis] : llvm::zip_equal(sizes, axes)) {
      double scale = double(size) / shape[axis];
      common = policy == "not_larger" ? std::min(common, scale)
                                      : std::max(common, scale);
    }
  for (auto [i, axis] : llvm::enumerate(axes)) {
    ResizedDim dim{shape[axis], shape[axis], 1, 1};
    if (!sizes.empty()) {
      dim.scale = policy == "stretch" ? double(sizes[i]) / dim.from : common;
      dim.to = policy == "stretch"
                   ? sizes[i]
                   : int64_t(std::clamp(std::floor(common * dim.from + 0.5),
                                        0.0, double(kMaxTaps)));
    } else {
      dim.scale = scales[i];
      // In f32, like ONNX's shape inference: 10 times 2.3f are 23 elements.
      double to = std::floor(float(dim.from) * float(scales[i]));
      dim.to = to >= 1 && to < double(kMaxTaps) ? int64_t(to) : 0;
      dim.isScaled = true;
    }
    if (!roi.empty()) {
      dim.roiBegin = roi[i];
      dim.roiEnd = roi[i + count];
    }
    double taps = 6 + 4 / std::min(dim.scale, 1.0);
    if (!(dim.to >= 1 && dim.to * taps < double(kMaxTaps))) {
      node.shapeError() << "the new extent of dimension " << axis
                        << " must be positive, and no more than " << kMaxTaps
                        << " weights may be needed for it";
      return std::nullopt;
    }
    dims.push_back({axis, dim});
  }
  return dims;
}

/// Emits a Resize; null after an error. Parameters are as above.
static Value resize(ImportedNode &node, Value value, unsigned image = 0,
                    ArrayRef<int64_t> to = {}) {
  ResizeMode mode;
  mode.mode = node.stringAttr("mode", "nearest");
  mode.coordinates =
      node.stringAttr("coordinate_transformation_mode", "half_pixel");
  mode.nearest = node.stringAttr("nearest_mode", "round_prefer_floor");
  mode.cubic = node.floatAttr("cubic_coeff_a", -0.75);
  mode.antialias = node.boolAttr("antialias", false);
  mode.excludeOutside = node.boolAttr("exclude_outside", false);
  double outside = node.floatAttr("extrapolation_value", 0);
  if (node.failed())
    return nullptr;
  auto check = [&](StringRef name, StringRef found,
                   std::initializer_list<StringRef> known) {
    if (llvm::is_contained(known, found) || node.failed())
      return;
    node.error() << Fault::BadAttribute << "attribute '" << name << "' is '"
                 << found << "', which is not known";
  };
  check("mode", mode.mode, {"nearest", "linear", "cubic"});
  check("coordinate_transformation_mode", mode.coordinates,
        {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
         "align_corners", "asymmetric", "tf_crop_and_resize"});
  check("nearest_mode", mode.nearest,
        {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  check("keep_aspect_ratio_policy",
        node.stringAttr("keep_aspect_ratio_policy", "stretch"),
        {"stretch", "not_larger", "not_smaller"});
  auto dims = node.failed() ? std::nullopt
                            : resizedDims(node, shapeOf(value), image, to);
  if (!dims)
    return nullptr;
  bool isCrop = mode.coordinates == "tf_crop_and_resize";
  // Shrinks dimensions first, so that the rest has less work.
  llvm::stable_sort(*dims, [](const auto &a, const auto &b) {
    return a.second.scale < b.second.scale;
  });
  for (const auto &[axis, dim] : *dims)
    if (isCrop || dim.scale != 1 || dim.to != dim.from)
      value = resizeAlong(node, value, axis, mode, dim);
  if (isCrop && value)
    for (const auto &[axis, dim] : *dims)
      if (Taps taps = tapsOf(mode, dim);
          llvm::is_contained(taps.outside, true) && value)
        value = replaceOutside(node, value, axis, taps.outside, outside);
  return value;
}

static LogicalResult importResize(ImportedNode &node) {
  return node.setOutput(0, resize(node, node.floatInput(0)));
}

/// Inputs dY, X, the region and the scales.
static LogicalResult importResizeGrad(ImportedNode &node) {
  Value grad = node.floatInput(0);
  if (node.failed())
    return failure();
  Value image = leafOf(node, node.shapeOfInput(1));
  Value resized = resize(node, image, /*image=*/1, shapeOf(grad));
  return node.setOutput(0, gradientOf(node, resized, grad, image));
}

/// Repeats each dimension.
static LogicalResult importTile(ImportedNode &node) {
  Value value = node.input(0);
  SmallVector<int64_t> repeats = node.knownInts(1);
  if (node.failed())
    return failure();
  SmallVector<int64_t> shape(shapeOf(value));
  bool fits =
      repeats.size() == shape.size() && llvm::all_of(repeats, [](int64_t n) {
        return n >= 1 && n <= kMaxElements;
      });
  if (!fits)
    return node.shapeError() << "must have a positive number of repeats for "
                                "each dimension, but has ["
                             << ArrayRef(repeats) << "]";
  for (auto [dim, count] : llvm::enumerate(repeats)) {
    if (count == 1)
      continue;
    SmallVector<int64_t> apart(shape);
    apart.insert(apart.begin() + dim, 1);
    value = node.reshape(value, apart);
    apart[dim] = count;
    value = node.broadcast(value, apart);
    if (!value)
      return failure();
    shape[dim] *= count;
    value = node.reshape(value, shape);
  }
  return node.setOutput(0, value);
}

static LogicalResult foldTile(ImportedNode &node) {
  KnownTensor value = node.constant(0);
  SmallVector<int64_t> repeats = node.knownInts(1), shape(value.shape);
  if (!node.failed() && repeats.size() != shape.size())
    node.error() << "must have one number of repeats for each dimension";
  for (size_t dim = 0; !node.failed() && dim < shape.size(); ++dim) {
    if (repeats[dim] < 0 || repeats[dim] > kMaxKnownElements)
      return node.error() << "repeats dimension " << dim << " " << repeats[dim]
                          << " times";
    shape[dim] *= repeats[dim];
  }
  if (node.failed() || !node.fitsConstant(shape))
    return failure();
  SmallVector<int64_t> strides = value.strides();
  return node.setKnown(value.pick(shape, [&](int64_t at) {
    int64_t from = 0;
    for (size_t dim = shape.size(); dim-- > 0; at /= shape[dim])
      from += at % shape[dim] % value.shape[dim] * strides[dim];
    return from;
  }));
}

/// DepthToSpace and SpaceToDepth: exchanges blocks of an image and channels.
template <bool toSpace> static LogicalResult importBlocks(ImportedNode &node) {
  Value value = node.input(0);
  int64_t block = node.intAttr("blocksize", 0);
  std::string mode = node.stringAttr("mode", "DCR");
  if (node.failed())
    return failure();
  ArrayRef<int64_t> shape = shapeOf(value);
  bool fits = shape.size() == 4 && block >= 1 && block < (1 << 15) &&
              (mode == "DCR" || mode == "CRD") &&
              (toSpace ? shape[1] % (block * block) == 0
                       : shape[2] % block == 0 && shape[3] % block == 0);
  if (!fits)
    return node.shapeError() << "cannot divide an image into blocks of "
                             << block << " in mode '" << mode << "'";
  int64_t n = shape[0], c = shape[1], h = shape[2], w = shape[3];
  if (toSpace) {
    int64_t depth = c / (block * block);
    if (mode == "DCR") {
      value = node.reshape(value, {n, block, block, depth, h, w});
      value = node.transpose(value, {0, 3, 4, 1, 5, 2});
    } else {
      value = node.reshape(value, {n, depth, block, block, h, w});
      value = node.transpose(value, {0, 1, 4, 2, 5, 3});
    }
    return node.setOutput(
        0, node.reshape(value, {n, depth, h * block, w * block}));
  }
  value = node.reshape(value, {n, c, h / block, block, w / block, block});
  if (mode == "DCR")
    value = node.transpose(value, {0, 3, 5, 1, 2, 4});
  else
    value = node.transpose(value, {0, 1, 3, 5, 2, 4});
  return node.setOutput(
      0, node.reshape(value, {n, c * block * block, h / block, w / block}));
}

ArrayRef<OpRow> mpc::resampleOps() {
  static const OpRow rows[] = {
      {"Resize", 11, 1, 4, 1, importResize},
      {"com.microsoft.ResizeGrad", 1, 2, 4, 1, importResizeGrad},
      {"Tile", 6, 2, 2, 1, importTile, foldTile},
      {"DepthToSpace", 11, 1, 1, 1, importBlocks<true>},
      {"SpaceToDepth", 1, 1, 1, 1, importBlocks<false>},
  };
  return rows;
}
