//===- indices.cpp - Samples of indexing and sorting ops ------------------===//

#include "test/gradients/samples/samples.h"

namespace mpc::test {

/// `axis` counted from the front.
static int64_t fromFront(int64_t axis, const Shape &shape) {
  return axis < 0 ? axis + int64_t(shape.size()) : axis;
}

/// A shape whose extents do not exceed those of `shape`, except for `axis`.
static Shape within(SampleBuilder &s, const Shape &shape, int64_t axis) {
  Shape result;
  for (int64_t extent : shape)
    result.push_back(s.from((extent + 1) / 2, extent));
  result[axis] = s.from(1, 5);
  return result;
}

static void drawGatherElements(SampleBuilder &s) {
  Shape shape = s.shape(1, 4);
  int64_t axis = s.axis(shape), dim = fromFront(axis, shape);
  Shape by = within(s, shape, dim);
  Shape places = s.list(countOf(by), -shape[dim], shape[dim] - 1);
  std::string x = s.parameter("x", shape);
  s.attribute("axis", axis);
  s.apply({x, s.indices(places, by)});
}

/// `count` index tuples for dimensions `batch` and later.
static Shape tuplesOf(SampleBuilder &s, const Shape &shape, int64_t batch,
                      int64_t length, int64_t count) {
  Shape places;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t dim = batch; dim < batch + length; ++dim)
      places.push_back(s.from(-shape[dim], shape[dim] - 1));
  return places;
}

static void drawGatherND(SampleBuilder &s) {
  Shape shape = s.shape(1, 4);
  auto rank = int64_t(shape.size());
  int64_t batch = s.cycle() ? s.from(0, rank - 1) : 0;
  int64_t length = s.from(1, rank - batch);
  Shape by(shape.begin(), shape.begin() + batch);
  for (int64_t more = s.from(0, 2); more > 0; --more)
    by.push_back(s.from(1, 3));
  Shape places = tuplesOf(s, shape, batch, length, countOf(by));
  by.push_back(length);
  std::string x = s.parameter("x", shape);
  if (batch)
    s.attribute("batch_dims", batch);
  s.apply({x, s.indices(places, by)});
}

/// The reduction for updates of the same element, and the updates. Some updates
/// of a product are zero.
static std::string updatesOf(SampleBuilder &s, const Shape &shape) {
  const char *reduction = s.cycle({"none", "add", "mul", "max", "min"});
  if (std::string(reduction) != "none" || s.oneIn(2))
    s.attribute("reduction", reduction);
  std::string updates = s.parameter("u", shape);
  if (std::string(reduction) != "mul" || s.oneIn(2))
    return updates;
  Values factors(countOf(shape), 1.0);
  for (double &factor : factors)
    factor = s.oneIn(4) ? 0 : 1;
  return s.let("Mul (" + updates + ", " + s.floats(factors, shape) + ")");
}

static void drawScatterElements(SampleBuilder &s) {
  Shape shape = s.shape(1, 4, 60);
  int64_t axis = s.axis(shape), dim = fromFront(axis, shape);
  Shape by = within(s, shape, dim);
  Shape places = s.list(countOf(by), -shape[dim], shape[dim] - 1);
  std::string x = s.parameter("x", shape), updates = updatesOf(s, by);
  s.attribute("axis", axis);
  s.apply({x, s.indices(places, by), updates});
}

static void drawScatterND(SampleBuilder &s) {
  Shape shape = s.shape(1, 4, 60);
  auto rank = int64_t(shape.size());
  int64_t length = s.from(1, rank);
  Shape by = s.list(s.from(1, 2), 1, 4);
  Shape places = tuplesOf(s, shape, 0, length, countOf(by)), updated = by;
  updated.insert(updated.end(), shape.begin() + length, shape.end());
  by.push_back(length);
  std::string x = s.parameter("x", shape), updates = updatesOf(s, updated);
  s.apply({x, s.indices(places, by), updates});
}

/// Computed off and on values.
static void drawOneHot(SampleBuilder &s) {
  Shape by = s.shape(0, 3, 20);
  int64_t depth = s.from(1, 6);
  Shape places = s.list(countOf(by), -depth - 1, depth);
  std::string v = s.let("Tanh (" + s.parameter("v", {2}) + ")");
  s.attribute("axis", s.axisOf(int64_t(by.size()) + 1));
  std::string indices = s.indices(places, by);
  s.apply({indices, s.scalar(depth), v});
}

static void drawCumSum(SampleBuilder &s) {
  Shape shape = s.shape(1, 5);
  if (s.cycle())
    s.attribute("exclusive", 1);
  if (s.cycle())
    s.attribute("reverse", 1);
  std::string x = s.parameter("x", shape);
  s.apply({x, s.scalar(s.axis(shape))});
}

static void drawTopK(SampleBuilder &s) {
  Shape shape = s.shape(1, 4);
  int64_t axis = s.axis(shape), k = s.from(1, shape[fromFront(axis, shape)]);
  s.attribute("axis", axis);
  if (!s.cycle({true, false}))
    s.attribute("largest", 0);
  if (s.oneIn(3))
    s.attribute("sorted", 1);
  std::string x = s.parameter("x", shape);
  s.apply({x, s.ints({k})}, 2);
  s.use("y0");
}

static void drawReverseSequence(SampleBuilder &s) {
  Shape shape = s.shape(2, 4);
  int64_t time = s.cycle({0, 1});
  if (time == 1 || s.oneIn(2)) {
    s.attribute("time_axis", time);
    s.attribute("batch_axis", 1 - time);
  }
  Shape lengths = s.list(shape[1 - time], 1, shape[time]);
  std::string x = s.parameter("x", shape);
  s.apply({x, s.indices(lengths, {shape[1 - time]})});
}

std::vector<SampledOp> indexSamples() {
  return {
      {"GatherElements", "x", drawGatherElements},
      {"GatherND", "x", drawGatherND},
      {"ScatterElements", "x u", drawScatterElements},
      {"ScatterND", "x u", drawScatterND},
      {"OneHot", "v", drawOneHot},
      {"CumSum", "x", drawCumSum},
      {"TopK", "x", drawTopK},
      {"ReverseSequence", "x", drawReverseSequence},
  };
}

} // namespace mpc::test
