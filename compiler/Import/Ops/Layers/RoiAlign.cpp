//===- RoiAlign.cpp - Import of RoiAlign ----------------------------------===//
//
// Each bin of a region is an average over samples between pixels, or ONNX's
// maximum: the largest of the weighted pixels.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Graph/ImportedNode.h"

using namespace mlir;
using namespace mpc;
using train::Comparison;

namespace {

/// The samples of all regions along one dimension of the image: the pixels
/// before and after each sample [regions, samples], and the weights of both.
struct Samples {
  Value before, behind;             ///< i64
  Value beforeWeight, behindWeight; ///< 0 for samples outside of the image.
};

class RoiAligner {
public:
  explicit RoiAligner(ImportedNode &node) : node(node) {}
  LogicalResult run();

private:
  bool read();
  Samples samplesOf(unsigned dim);
  Value pixels(Value row, Value column);
  Value column(unsigned index);

  template <typename OpTy> Value of(Value a, Value b) {
    return node.emit<OpTy>({a, b});
  }
  Value add(Value a, Value b) { return of<train::AddOp>(a, b); }
  Value sub(Value a, Value b) { return of<train::SubOp>(a, b); }
  Value mul(Value a, Value b) { return of<train::MulOp>(a, b); }

  ImportedNode &node;
  Value image, regions, batches;
  Value table; ///< [batch * height * width, channels]
  int64_t count = 0, channels = 0, samplesPerBin = 0;
  int64_t extents[3] = {}; ///< Batch, height, width.
  int64_t bins[2] = {};    ///< Bins along height and width.
  double scale = 1;
  bool isHalfPixel = true, isMax = false;
};

} // namespace

bool RoiAligner::read() {
  image = node.floatInput(0);
  regions = node.floatInput(1);
  batches = node.intInput(2);
  std::string mode = node.stringAttr("mode", "avg");
  std::string transformation =
      node.graph.opset < 16
          ? "output_half_pixel"
          : node.stringAttr("coordinate_transformation_mode", "half_pixel");
  bins[0] = node.intAttr("output_height", 1);
  bins[1] = node.intAttr("output_width", 1);
  samplesPerBin = node.intAttr("sampling_ratio", 0);
  scale = node.floatAttr("spatial_scale", 1);
  if (node.failed())
    return false;
  isHalfPixel = transformation == "half_pixel";
  isMax = mode == "max";
  if ((mode != "avg" && mode != "max") ||
      (!isHalfPixel && transformation != "output_half_pixel")) {
    node.error() << Fault::BadAttribute << "mode '" << mode
                 << "' with coordinate transformation '" << transformation
                 << "' is not known";
    return false;
  }
  if (samplesPerBin < 1) {
    node.error() << Fault::BadAttribute << "attribute 'sampling_ratio' is "
                 << samplesPerBin
                 << ": the number of samples per bin would depend on the data; "
                    "export the model with a positive value";
    return false;
  }
  for (int64_t extent : bins)
    if (extent > kMaxKnownElements / samplesPerBin) {
      node.error() << "the output has " << extent << " bins of "
                   << samplesPerBin << " samples in a dimension; at most "
                   << kMaxKnownElements << " samples are supported";
      return false;
    }
  ArrayRef<int64_t> shape = shapeOf(image), boxes = shapeOf(regions);
  if (shape.size() != 4 || boxes.size() != 2 || boxes[1] != 4 ||
      shapeOf(batches) != boxes.take_front() || bins[0] < 1 || bins[1] < 1) {
    node.shapeError() << "needs an image of 4 dimensions, regions [count, 4], "
                         "as many batch indices and a positive output size";
    return false;
  }
  count = boxes[0];
  channels = shape[1];
  extents[0] = shape[0];
  extents[1] = shape[2];
  extents[2] = shape[3];
  return true;
}

/// Number `index` of each region, [regions, 1], in pixels.
Value RoiAligner::column(unsigned index) {
  Value own = mul(node.part(regions, 1, index, 1), node.scalar(scale));
  return isHalfPixel ? sub(own, node.scalar(0.5)) : own;
}

Samples RoiAligner::samplesOf(unsigned dim) {
  // Regions are x1, y1, x2, y2.
  unsigned first = dim == 0 ? 1 : 0;
  double last = extents[1 + dim] - 1;
  Value begin = column(first);
  Value length = sub(column(first + 2), begin);
  if (!isHalfPixel)
    length = of<train::MaximumOp>(length, node.scalar(1));
  int64_t total = bins[dim] * samplesPerBin;
  KnownTensor parts{node.graph.floatType, {total}, {}, {}};
  for (int64_t i = 0; i < total; ++i)
    parts.floats.push_back(
        roundTo(node.graph.floatType, (i + 0.5) / double(total)));
  Value place = add(begin, mul(length, node.data(parts)));

  auto within = [&](double low, double high) {
    return of<train::AndOp>(
        node.compare(node.scalar(low), place, Comparison::LessOrEqual),
        node.compare(place, node.scalar(high), Comparison::LessOrEqual));
  };
  Value exists = within(-1, last + 1);
  OpBuilder &builder = node.graph.builder;
  auto clip = [&](Value value) {
    return node.emit<train::ClipOp>(
        value, {node.attr("low", builder.getF64FloatAttr(0)),
                node.attr("high", builder.getF64FloatAttr(last))});
  };
  Value inside = clip(place);
  Value whole = node.emit<train::FloorOp>(inside);
  Value rest = sub(inside, whole);
  Value zero = node.scalar(0);
  auto weight = [&](Value value) {
    return node.emit<train::SelectOp>({exists, value, zero});
  };
  Type i64 = builder.getI64Type();
  return {node.castTo(whole, i64),
          node.castTo(clip(add(whole, node.scalar(1))), i64),
          weight(sub(node.scalar(1), rest)), weight(rest)};
}

/// Pixels [regions, rows, columns, channels] at indices along both dimensions.
Value RoiAligner::pixels(Value row, Value column) {
  if (node.failed())
    return nullptr;
  Value batch = node.reshape(batches, {count, 1, 1});
  row = node.reshape(row, {count, shapeOf(row)[1], 1});
  column = node.reshape(column, {count, 1, shapeOf(column)[1]});
  Value index = node.emit<train::FlatIndexOp>(
      {batch, row, column},
      {node.i64s("axes", {0, 1, 2}), node.i64s("extents", extents)});
  return node.emit<train::EmbeddingOp>({table, index});
}

LogicalResult RoiAligner::run() {
  if (!read())
    return failure();
  table = node.reshape(node.transpose(image, {0, 2, 3, 1}),
                       {extents[0] * extents[1] * extents[2], channels});
  // As in PyTorch, regions get no gradient.
  regions = node.emit<train::StopGradientOp>(regions);
  Samples rows = samplesOf(0), columns = samplesOf(1);
  if (node.failed())
    return failure();
  int64_t height = shapeOf(rows.before)[1], width = shapeOf(columns.before)[1];
  Value result;
  for (auto [row, rowWeight] : {std::pair(rows.before, rows.beforeWeight),
                                std::pair(rows.behind, rows.behindWeight)})
    for (auto [column, columnWeight] :
         {std::pair(columns.before, columns.beforeWeight),
          std::pair(columns.behind, columns.behindWeight)}) {
      Value weight = mul(node.reshape(rowWeight, {count, height, 1, 1}),
                         node.reshape(columnWeight, {count, 1, width, 1}));
      Value term = mul(weight, pixels(row, column));
      result = !result ? term
               : isMax ? of<train::MaximumOp>(result, term)
                       : add(result, term);
    }
  result = node.reshape(result, {count, bins[0], samplesPerBin, bins[1],
                                 samplesPerBin, channels});
  NamedAttribute axes = node.i64s("axes", {2, 4});
  result = isMax ? node.emit<train::ReduceMaxOp>(result, axes)
                 : node.emit<train::ReduceMeanOp>(result, axes);
  return node.setOutput(0, result ? node.transpose(result, {0, 3, 1, 2})
                                  : Value());
}

static LogicalResult importRoiAlign(ImportedNode &node) {
  return RoiAligner(node).run();
}

ArrayRef<OpRow> mpc::roiOps() {
  static const OpRow rows[] = {
      {"RoiAlign", 10, 3, 3, 1, importRoiAlign},
  };
  return rows;
}
