//===- Image.cpp - Import of sampling and cropping ------------------------===//

#include "compiler/Import/Graph/ImportedNode.h"

#include <cmath>

using namespace mlir;
using namespace mpc;
using train::Comparison;

//===----------------------------------------------------------------------===//
// GridSample
//===----------------------------------------------------------------------===//

namespace {

/// Samples an image at the points of a grid.
class Sampler {
public:
  Sampler(ImportedNode &node, Value image, std::string padding,
          bool alignCorners)
      : node(node), padding(std::move(padding)), alignCorners(alignCorners) {
    ArrayRef<int64_t> shape = shapeOf(image);
    extents.assign(shape.begin() + 2, shape.end());
    batch = shape[0];
    channels = shape[1];
    // One row for each pixel.
    SmallVector<int64_t> toLast = {0};
    for (size_t dim = 2; dim < shape.size(); ++dim)
      toLast.push_back(dim);
    toLast.push_back(1);
    rows =
        node.reshape(node.transpose(image, toLast),
                     {ShapedType::getNumElements(shape) / channels, channels});
  }

  /// Converts a coordinate in [-1, 1] to pixels along spatial dimension `dim`.
  Value pixelCoordinate(Value number, size_t dim) {
    double extent = extents[dim];
    Value shifted = node.emit<train::AddOp>({number, node.scalar(1)});
    double scale = (alignCorners ? extent - 1 : extent) / 2;
    Value coordinate = node.emit<train::MulOp>({shifted, node.scalar(scale)});
    return alignCorners
               ? coordinate
               : node.emit<train::SubOp>({coordinate, node.scalar(0.5)});
  }

  /// Applies the padding mode to a coordinate outside of the image.
  Value pad(Value coordinate, size_t dim) {
    double last = extents[dim] - 1;
    if (padding == "reflection")
      coordinate = reflect(coordinate, alignCorners ? 0 : -0.5,
                           alignCorners ? last : last + 0.5);
    return padding == "zeros" ? coordinate : stopAtEnds(coordinate, last);
  }

  /// The pixels at integer coordinates, one coordinate per spatial dimension; 0
  /// outside.
  Value pixelsAt(ArrayRef<Value> coordinates) {
    SmallVector<int64_t> axes, table = {batch};
    SmallVector<Value> indices;
    Value exists;
    for (auto [dim, coordinate] : llvm::enumerate(coordinates)) {
      double last = extents[dim] - 1;
      Value inside = clip(coordinate, 0, last);
      Value isInside = node.compare(coordinate, inside, Comparison::Equal);
      exists = exists ? node.emit<train::AndOp>({exists, isInside}) : isInside;
      indices.push_back(node.castTo(inside, node.graph.builder.getI64Type()));
      axes.push_back(1 + dim);
      table.push_back(extents[dim]);
    }
    Value index = node.emit<train::FlatIndexOp>(
        indices, {node.i64s("axes", axes), node.i64s("extents", table)});
    Value pixels = node.emit<train::EmbeddingOp>({rows, index});
    if (!pixels)
      return nullptr;
    return node.emit<train::SelectOp>({column(exists), pixels, node.scalar(0)});
  }

  /// Reshapes one number per point so that it broadcasts to pixels.
  Value column(Value numbers) {
    if (!numbers)
      return nullptr;
    SmallVector<int64_t> shape(shapeOf(numbers));
    shape.push_back(1);
    return node.reshape(numbers, shape);
  }

  Value clip(Value coordinate, double low, double high) {
    OpBuilder &builder = node.graph.builder;
    return node.emit<train::ClipOp>(
        coordinate, {node.attr("low", builder.getF64FloatAttr(low)),
                     node.attr("high", builder.getF64FloatAttr(high))});
  }

private:
  /// Clamps coordinates to [0, last]. A coordinate that is moved, or is at an
  /// end, has no gradient, as in PyTorch.
  Value stopAtEnds(Value coordinate, double last) {
    for (auto [end, isLow] : {std::pair(0.0, true), std::pair(last, false)}) {
      Value bound = node.scalar(end);
      Value isMoved =
          isLow ? node.compare(coordinate, bound, Comparison::LessOrEqual)
                : node.compare(bound, coordinate, Comparison::LessOrEqual);
      coordinate = node.emit<train::SelectOp>({isMoved, bound, coordinate});
    }
    return coordinate;
  }

  /// Reflects a coordinate at `low` and `high`.
  Value reflect(Value coordinate, double low, double high) {
    double span = high - low;
    if (span <= 0)
      return node.emit<train::MulOp>({coordinate, node.scalar(0)});
    Value distance = node.emit<train::AbsOp>(
        node.emit<train::SubOp>({coordinate, node.scalar(low)}));
    Value turns = node.emit<train::FloorOp>(
        node.emit<train::MulOp>({distance, node.scalar(1 / span)}));
    Value rest = node.emit<train::SubOp>(
        {distance, node.emit<train::MulOp>({turns, node.scalar(span)})});
    Value half = node.emit<train::MulOp>({turns, node.scalar(0.5)});
    Value isEven =
        node.compare(node.emit<train::FloorOp>(half), half, Comparison::Equal);
    Value back = node.emit<train::SubOp>({node.scalar(span), rest});
    Value inside = node.emit<train::SelectOp>({isEven, rest, back});
    return node.emit<train::AddOp>({inside, node.scalar(low)});
  }

  ImportedNode &node;
  std::string padding;
  bool alignCorners;
  SmallVector<int64_t> extents;
  int64_t batch, channels;
  Value rows;
};

} // namespace

/// The weights of the elements from -1 on of a cubic convolution for the
/// fraction of a coordinate, as in PyTorch.
static SmallVector<Value> cubicWeights(ImportedNode &node, Value rest) {
  constexpr double a = -0.75;
  auto number = [&](double value) { return node.scalar(value); };
  auto add = [&](Value x, Value y) { return node.emit<train::AddOp>({x, y}); };
  auto mul = [&](Value x, Value y) { return node.emit<train::MulOp>({x, y}); };
  // ((p t + q) t + r) t + s
  auto cubic = [&](Value t, double p, double q, double r, double s) {
    Value sum = add(mul(t, number(p)), number(q));
    sum = add(mul(sum, t), number(r));
    return add(mul(sum, t), number(s));
  };
  auto near = [&](Value t) { return cubic(t, a + 2, -(a + 3), 0, 1); };
  auto far = [&](Value t) { return cubic(t, a, -5 * a, 8 * a, -4 * a); };
  Value one = number(1);
  Value other = node.emit<train::SubOp>({one, rest});
  return {far(add(rest, one)), near(rest), near(other), far(add(other, one))};
}

static LogicalResult importGridSample(ImportedNode &node) {
  Value image = node.floatInput(0), grid = node.floatInput(1);
  bool alignCorners = node.boolAttr("align_corners", false);
  std::string mode = node.stringAttr("mode", "linear");
  std::string padding = node.stringAttr("padding_mode", "zeros");
  if (mode == "bilinear")
    mode = "linear";
  if (mode == "bicubic")
    mode = "cubic";
  if (node.failed())
    return failure();
  ArrayRef<int64_t> shape = shapeOf(image), points = shapeOf(grid);
  size_t spatial = shape.size() < 3 ? 0 : shape.size() - 2;
  if (spatial == 0 || spatial > 3 || points.size() != shape.size() ||
      points[0] != shape[0] || points.back() != int64_t(spatial))
    return node.shapeError() << "takes an image [N, C, D..] and a grid "
                                "[N, P.., number of D] in up to 3 dimensions";
  if ((mode != "linear" && mode != "nearest" && mode != "cubic") ||
      (padding != "zeros" && padding != "border" && padding != "reflection"))
    return node.error() << Fault::BadAttribute << "mode '" << mode
                        << "' with padding '" << padding << "' is not known";
  Sampler sampler(node, image, padding, alignCorners);
  // The last coordinate of the grid belongs to the first spatial dimension.
  SmallVector<Value> coordinates, wholes, rests;
  SmallVector<int64_t> target(points.drop_back());
  for (size_t dim = 0; dim < spatial; ++dim) {
    Value number =
        node.part(grid, int64_t(points.size()) - 1, spatial - 1 - dim, 1);
    Value coordinate =
        sampler.pixelCoordinate(node.reshape(number, target), dim);
    if (mode != "cubic")
      coordinate = sampler.pad(coordinate, dim);
    coordinates.push_back(coordinate);
    wholes.push_back(mode == "nearest" ? node.emit<train::RoundOp>(coordinate)
                                       : node.emit<train::FloorOp>(coordinate));
    rests.push_back(node.emit<train::SubOp>({coordinate, wholes.back()}));
  }
  if (node.failed())
    return failure();
  // All combinations of taps, with the product of their weights.
  int64_t taps = mode == "nearest" ? 1 : mode == "linear" ? 2 : 4;
  int64_t count = 1;
  SmallVector<SmallVector<Value>> weights;
  for (size_t dim = 0; dim < spatial; ++dim) {
    count *= taps;
    if (taps == 2)
      weights.push_back(
          {node.emit<train::SubOp>({node.scalar(1), rests[dim]}), rests[dim]});
    else if (taps == 4)
      weights.push_back(cubicWeights(node, rests[dim]));
  }
  Value sum;
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<Value> at;
    Value weight;
    int64_t rest = i;
    for (size_t dim = 0; dim < spatial; ++dim, rest /= taps) {
      int64_t tap = rest % taps, offset = taps == 4 ? tap - 1 : tap;
      Value coordinate = wholes[dim];
      if (offset != 0)
        coordinate = node.emit<train::AddOp>({coordinate, node.scalar(offset)});
      if (mode == "cubic")
        coordinate = sampler.pad(coordinate, dim);
      at.push_back(coordinate);
      if (taps == 1)
        continue;
      Value own = weights[dim][tap];
      weight = weight ? node.emit<train::MulOp>({weight, own}) : own;
    }
    Value pixels = sampler.pixelsAt(at);
    if (weight)
      pixels = node.emit<train::MulOp>({pixels, sampler.column(weight)});
    sum = sum ? node.emit<train::AddOp>({sum, pixels}) : pixels;
  }
  SmallVector<int64_t> toFirst = {0, int64_t(spatial) + 1};
  for (size_t dim = 0; dim < spatial; ++dim)
    toFirst.push_back(1 + dim);
  return node.setOutput(0,
                        node.failed() ? Value() : node.transpose(sum, toFirst));
}

//===----------------------------------------------------------------------===//
// AffineGrid
//===----------------------------------------------------------------------===//

/// The coordinates of the elements of a dimension, from -1 to 1.
static KnownTensor gridLine(ImportedNode &node, int64_t extent,
                            bool alignCorners) {
  KnownTensor line{node.graph.floatType, {extent}, {}, {}};
  for (int64_t coordinate = 0; coordinate < extent; ++coordinate)
    line.floats.push_back(roundTo(
        node.graph.floatType,
        alignCorners ? 2.0 * coordinate / std::max<double>(extent - 1, 1) - 1
                     : (2.0 * coordinate + 1) / double(extent) - 1));
  return line;
}

/// The points of a regular grid times the matrices, as sums of products of
/// elements: a matrix product would round the coordinates to 16 bit.
static LogicalResult importAffineGrid(ImportedNode &node) {
  Value theta = node.floatInput(0);
  SmallVector<int64_t> size = node.knownInts(1);
  bool alignCorners = node.boolAttr("align_corners", false);
  if (node.failed())
    return failure();
  int64_t spatial = int64_t(size.size()) - 2;
  if (spatial < 2 || spatial > 3 ||
      shapeOf(theta) != ArrayRef<int64_t>({size[0], spatial, spatial + 1}))
    return node.shapeError() << "takes matrices [N, 2, 3] or [N, 3, 4] and the "
                                "shape of an image";
  SmallVector<int64_t> extents(size.begin() + 2, size.end());
  llvm::Expected<int64_t> count = countElements(extents);
  if (!count)
    return node.graph.report(count.takeError(), node.loc, "the grid");
  // The factors of one coordinate of a point, for each coordinate of the
  // result.
  SmallVector<int64_t> factorShape(spatial + 2, 1);
  factorShape.front() = size[0];
  factorShape.back() = spatial;
  auto factor = [&](int64_t coordinate) {
    return node.reshape(node.part(theta, 2, coordinate, 1), factorShape);
  };
  Value sum = factor(spatial);
  // The first coordinate is that of the last dimension.
  for (int64_t coordinate = 0; coordinate < spatial; ++coordinate) {
    int64_t dim = spatial - 1 - coordinate;
    if (node.failed() || !node.fitsConstant({extents[dim]}))
      return failure();
    KnownTensor line = gridLine(node, extents[dim], alignCorners);
    line.shape.append(coordinate + 1, 1);
    Value coordinates = train::ConstantOp::create(
        node.graph.builder, node.loc, ElementsAttr(line.attribute()));
    Value moved = node.emit<train::MulOp>({coordinates, factor(coordinate)});
    sum = node.emit<train::AddOp>({moved, sum});
  }
  return node.setOutput(0, sum);
}

//===----------------------------------------------------------------------===//
// CenterCropPad
//===----------------------------------------------------------------------===//

static LogicalResult importCenterCropPad(ImportedNode &node) {
  Value value = node.input(0);
  SmallVector<int64_t> target = node.knownInts(1);
  auto axes = node.intsAttr("axes");
  if (node.failed())
    return failure();
  int64_t rank = shapeOf(value).size();
  if (!axes)
    axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (axes->size() != target.size())
    return node.shapeError() << "must have an extent for each axis";
  for (auto [axis, extent] : llvm::zip_equal(*axes, target)) {
    axis = node.normalizeAxis(axis, rank, "an entry of 'axes'");
    if (!node.failed() && (extent < 1 || extent > kMaxElements))
      node.shapeError() << "the extents must be positive, but one is "
                        << extent;
    if (node.failed())
      return failure();
    int64_t from = shapeOf(value)[axis];
    if (from == extent)
      continue;
    if (!node.fitsConstant(extent))
      return failure();
    int64_t offset =
        from > extent ? (from - extent) / 2 : -((extent - from) / 2);
    SmallVector<int64_t> coordinates;
    for (int64_t i = 0; i < extent; ++i) {
      int64_t coordinate = i + offset;
      coordinates.push_back(coordinate >= 0 && coordinate < from ? coordinate
                                                                 : -1);
    }
    value = node.pick(value, axis, coordinates);
    if (!value)
      return failure();
  }
  return node.setOutput(0, value);
}

ArrayRef<OpRow> mpc::imageOps() {
  static const OpRow rows[] = {
      {"GridSample", 16, 2, 2, 1, importGridSample},
      {"AffineGrid", 20, 2, 2, 1, importAffineGrid},
      {"CenterCropPad", 18, 2, 2, 1, importCenterCropPad},
  };
  return rows;
}
