//===- Signal.cpp - Import of Fourier transforms --------------------------===//

#include "compiler/Import/Graph/ImportedNode.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

/// Maximum number of elements of a matrix of sines.
constexpr int64_t kMaxSines = int64_t(1) << 24;

/// A discrete Fourier transform as products with matrices of cosines and sines.
static LogicalResult importDft(ImportedNode &node) {
  bool axisIsInput = node.graph.opset >= 20;
  Value input = node.floatInput(0);
  bool inverse = node.boolAttr("inverse", false);
  bool onesided = node.boolAttr("onesided", false);
  int64_t axis = axisIsInput ? -2 : node.intAttr("axis", 1);
  if (axisIsInput && node.hasInput(2))
    axis = node.knownInteger(2);
  if (node.failed())
    return failure();
  SmallVector<int64_t> shape(shapeOf(input));
  int64_t rank = shape.size(), parts = rank > 0 ? shape.back() : 0;
  axis = node.normalizeAxis(axis, rank, "the axis");
  if (node.failed())
    return failure();
  if (axis == rank - 1 || (parts != 1 && parts != 2))
    return node.shapeError()
           << "takes real or complex numbers (1 or 2 elements in the last "
              "dimension) and an axis other than the last";
  // A one-sided inverse transform gives real numbers.
  bool toReal = onesided && inverse;
  int64_t length = toReal ? 2 * (shape[axis] - 1) : shape[axis];
  if (node.hasInput(1))
    length = node.knownInteger(1);
  int64_t out = onesided && !inverse ? length / 2 + 1 : length;
  if (!node.failed() && (length < 1 || length > kMaxSines / length))
    node.error() << "the length must be from 1 to 4096, but is " << length;
  if (node.failed())
    return failure();

  // Pads or cuts to the length; completes a one-sided input with its
  // conjugates.
  int64_t given = shape[axis];
  SmallVector<int64_t> places;
  for (int64_t i = 0; i < length; ++i) {
    bool mirrored = toReal && i > length / 2;
    int64_t from = mirrored ? length - i : i;
    places.push_back(from < given ? from : -1);
  }
  input = node.pick(input, axis, places);
  // [.., length] for each part.
  SmallVector<int64_t> order;
  for (int64_t dim = 0; dim < rank - 1; ++dim)
    if (dim != axis)
      order.push_back(dim);
  order.append({axis, rank - 1});
  Value moved = node.transpose(input, order);
  if (!moved)
    return failure();
  SmallVector<int64_t> rows(shapeOf(moved).drop_back());
  auto part = [&](int64_t which) -> Value {
    Value one = node.reshape(node.part(moved, rank - 1, which, 1), rows);
    return rank == 2 ? node.reshape(one, {1, length}) : one;
  };
  KnownTensor cosines{node.graph.floatType, {length, out}, {}, {}};
  KnownTensor sines = cosines, mirrors{node.graph.floatType, {length}, {}, {}};
  double sign = inverse ? 1 : -1, scale = inverse ? 1.0 / length : 1;
  for (int64_t n = 0; n < length; ++n) {
    mirrors.floats.push_back(toReal && n > length / 2 ? -1 : 1);
    for (int64_t k = 0; k < out; ++k) {
      double angle = 2 * M_PI * double(n * k % length) / double(length);
      auto add = [&](KnownTensor &to, double value) {
        to.floats.push_back(roundTo(node.graph.floatType, scale * value));
      };
      add(cosines, std::cos(angle));
      add(sines, sign * std::sin(angle));
    }
  }
  Value cosine = node.data(cosines);
  Value sine = node.data(sines);
  Value real = part(0);
  Value resultReal = node.emit<train::MatmulOp>({real, cosine});
  Value resultImaginary = node.emit<train::MatmulOp>({real, sine});
  if (parts == 2) {
    Value imaginary = part(1);
    if (toReal)
      imaginary = node.emit<train::MulOp>({imaginary, node.data(mirrors)});
    resultReal = node.emit<train::SubOp>(
        {resultReal, node.emit<train::MatmulOp>({imaginary, sine})});
    resultImaginary = node.emit<train::AddOp>(
        {resultImaginary, node.emit<train::MatmulOp>({imaginary, cosine})});
  }
  rows.back() = out;
  rows.push_back(1);
  SmallVector<Value> results = {node.reshape(resultReal, rows)};
  if (!toReal)
    results.push_back(node.reshape(resultImaginary, rows));
  Value result = results[0];
  if (!toReal)
    result = node.emit<train::ConcatOp>(results, node.i64("axis", rank - 1));
  SmallVector<int64_t> back(rank);
  for (auto [to, from] : llvm::enumerate(order))
    back[from] = to;
  return node.setOutput(0,
                        node.failed() ? Value() : node.transpose(result, back));
}

ArrayRef<OpRow> mpc::signalOps() {
  static const OpRow rows[] = {
      {"DFT", 17, 1, 3, 1, importDft},
  };
  return rows;
}
