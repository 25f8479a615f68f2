//===- shapes.cpp - Samples of ops that move elements ---------------------===//

#include "test/gradients/samples/samples.h"

#include <algorithm>
#include <numeric>

namespace mpc::test {

static void drawFlatten(SampleBuilder &s) {
  Shape shape = s.shape(0, 5);
  s.attribute("axis", s.from(-int64_t(shape.size()), shape.size()));
  s.apply({s.parameter("x", shape)});
}

/// Adjacent dimensions merged, ones inserted; some extents 0 (copied) or -1.
static void drawReshape(SampleBuilder &s) {
  Shape shape = s.shape(0, 5), wanted = shape;
  std::string x = s.parameter("x", shape);
  for (int64_t joins = s.from(0, 2); joins > 0 && wanted.size() > 1; --joins) {
    auto at = wanted.begin() + s.from(1, int64_t(wanted.size()) - 1);
    at[-1] *= *at;
    wanted.erase(at);
  }
  for (int64_t ones = s.from(0, 2); ones > 0; --ones)
    wanted.insert(wanted.begin() + s.from(0, wanted.size()), 1);
  for (size_t i = 0; i < std::min(wanted.size(), shape.size()); ++i)
    if (s.oneIn(3) && wanted[i] == shape[i])
      wanted[i] = 0;
  if (!wanted.empty() && s.oneIn(2))
    wanted[s.from(0, int64_t(wanted.size()) - 1)] = -1;
  if (std::count(wanted.begin(), wanted.end(), 0) == 0 && s.oneIn(3))
    s.attribute("allowzero", 1);
  s.apply({x, s.ints(wanted)});
}

static void drawSqueeze(SampleBuilder &s) {
  Shape shape = s.shape(0, 4), named;
  for (int64_t ones = s.from(0, 2); ones > 0; --ones)
    shape.insert(shape.begin() + s.from(0, shape.size()), 1);
  auto rank = int64_t(shape.size());
  for (int64_t dim = 0; dim < rank; ++dim)
    if (shape[dim] == 1 && s.oneIn(2))
      named.push_back(s.oneIn(2) ? dim : dim - rank);
  std::string x = s.parameter("x", shape);
  s.apply({x, s.cycle() && !named.empty() ? s.ints(named) : ""});
}

static void drawUnsqueeze(SampleBuilder &s) {
  Shape shape = s.shape(0, 4);
  int64_t count = s.from(1, 3);
  std::string x = s.parameter("x", shape);
  s.apply({x, s.ints(s.axes(int64_t(shape.size()) + count, count))});
}

static void drawTranspose(SampleBuilder &s) {
  Shape shape = s.shape(0, 5);
  std::string x = s.parameter("x", shape);
  if (!shape.empty() && s.number % 5 != 1)
    s.attribute("perm", s.permutation(shape.size()));
  s.apply({x});
}

/// The requested shape may contain ones and have fewer dimensions.
static void drawExpand(SampleBuilder &s) {
  Shape whole = s.shape(0, 5), wanted = s.broadcasting(whole);
  std::string x = s.parameter("x", s.broadcasting(whole));
  s.apply({x, s.ints(wanted.empty() ? Shape{1} : wanted)});
}

static void drawTile(SampleBuilder &s) {
  Shape shape = s.shape(1, 5, 60);
  std::string x = s.parameter("x", shape);
  s.apply({x, s.ints(s.list(shape.size(), 1, 3))});
}

static void drawGather(SampleBuilder &s) {
  Shape shape = s.shape(1, 4), by = s.shape(0, 2, 12);
  int64_t axis = s.axis(shape);
  int64_t extent = shape[axis < 0 ? axis + int64_t(shape.size()) : axis];
  Shape places = s.list(countOf(by), -extent, extent - 1);
  std::string x = s.parameter("x", shape);
  s.attribute("axis", axis);
  s.apply({x, s.indices(places, by)});
}

/// Ranges with steps, forward and backward, with ends beyond the tensor.
static void drawSlice(SampleBuilder &s) {
  Shape shape = s.shape(1, 5), starts, ends, steps;
  auto rank = int64_t(shape.size());
  Shape axes = s.axes(rank, s.from(1, rank));
  bool hasSteps = s.cycle(), areFirst = s.cycle({false, false, true});
  if (areFirst)
    std::iota(axes.begin(), axes.end(), 0);
  for (int64_t axis : axes) {
    int64_t extent = shape[axis < 0 ? axis + rank : axis];
    int64_t first = s.from(0, extent - 1), last = s.from(first, extent - 1);
    int64_t step = hasSteps ? s.from(1, 3) : 1;
    if (hasSteps && s.oneIn(2)) { // Backward.
      starts.push_back(s.oneIn(3) ? last - extent : last);
      ends.push_back(first - 1 - (first == 0 ? extent + s.from(0, 2) : 0));
      steps.push_back(-step);
      continue;
    }
    starts.push_back(s.oneIn(3) ? first - extent : first);
    ends.push_back(last == extent - 1 && s.oneIn(2) ? extent + s.from(0, 9)
                                                    : last + 1);
    steps.push_back(step);
  }
  std::string x = s.parameter("x", shape), begin = s.ints(starts);
  std::string end = s.ints(ends);
  s.apply({x, begin, end, areFirst ? "" : s.ints(axes),
           hasSteps ? s.ints(steps) : ""});
}

/// Numbers that add up to `whole`.
static Shape partsOf(SampleBuilder &s, int64_t whole, int64_t most) {
  Shape parts;
  while (whole > 0 && int64_t(parts.size()) + 1 < most) {
    parts.push_back(s.from(1, whole));
    whole -= parts.back();
  }
  if (whole > 0)
    parts.push_back(whole);
  return parts;
}

static void useProducts(SampleBuilder &s, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (count == 1 || i != 1) // One part is not used.
      s.use(s.let("Mul (y" + std::to_string(i) + ", y" + std::to_string(i) +
                  ")"));
}

static void drawSplit(SampleBuilder &s) {
  Shape shape = s.shape(1, 5);
  int64_t axis = s.axis(shape);
  int64_t &extent = shape[axis < 0 ? axis + int64_t(shape.size()) : axis];
  bool isGiven = s.cycle();
  Shape parts = partsOf(s, extent, 4);
  if (!isGiven) {
    int64_t count = s.from(1, 3), each = s.from(1, 3);
    // Since opset 18 the last part may be smaller.
    extent = count * each - (s.opset >= 18 && each > 1 && s.oneIn(2));
    parts.assign(count, each);
    if (s.opset >= 18)
      s.attribute("num_outputs", count);
  }
  std::string x = s.parameter("x", shape);
  s.attribute("axis", axis);
  s.apply({x, isGiven ? s.ints(parts) : ""}, int(parts.size()));
  useProducts(s, parts.size());
}

static void drawConcat(SampleBuilder &s) {
  Shape shape = s.shape(1, 5, 40);
  int64_t axis = s.axis(shape);
  int64_t &extent = shape[axis < 0 ? axis + int64_t(shape.size()) : axis];
  std::vector<std::string> inputs;
  size_t count = s.from(1, 3);
  for (const char *name : {"a", "b", "c"}) {
    if (inputs.size() == count)
      break;
    inputs.push_back(s.parameter(name, shape));
    extent = s.from(1, 5);
  }
  if (s.oneIn(4))
    inputs.push_back(inputs[0]);
  s.attribute("axis", axis);
  s.apply(inputs);
}

static void drawPad(SampleBuilder &s) {
  Shape shape = s.shape(1, 5, 40);
  const char *mode = s.cycle({"constant", "reflect", "edge", "wrap"});
  bool isConstant = std::string(mode) == "constant";
  auto rank = int64_t(shape.size());
  bool hasAxes = s.opset >= 18 && s.oneIn(2);
  Shape axes = s.axes(rank, s.from(1, rank)), before, after;
  if (!hasAxes) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (int64_t axis : axes) {
    int64_t extent = shape[axis < 0 ? axis + rank : axis];
    // Reflection is limited by the image; negative pads crop.
    int64_t most = isConstant || *mode == 'e' ? 3 : extent - 1;
    before.push_back(s.from(-std::min<int64_t>((extent - 1) / 2, 1),
                            std::min<int64_t>(most, 3)));
    after.push_back(s.from(isConstant ? -((extent - 1) / 2) : 0,
                           std::min<int64_t>(most, 3)));
    if (!isConstant)
      before.back() = std::max<int64_t>(before.back(), 0);
  }
  before.insert(before.end(), after.begin(), after.end());
  std::string x = s.parameter("x", shape), pads = s.ints(before);
  s.attribute("mode", mode);
  std::string value = isConstant && s.oneIn(2) ? s.scalar(s.real(-1, 1)) : "";
  s.apply({x, pads, value, hasAxes ? s.ints(axes) : ""});
}

static void drawBlocks(SampleBuilder &s) {
  bool toSpace = s.op == "DepthToSpace";
  int64_t block = s.cycle<int64_t>({2, 3, 1, 2});
  Shape shape = {s.from(1, 2), s.from(1, 2), s.from(1, 3), s.from(1, 3)};
  if (toSpace)
    shape[1] *= block * block;
  else
    shape[2] *= block, shape[3] *= block;
  s.attribute("blocksize", block);
  if (toSpace)
    s.attribute("mode", s.cycle({"DCR", "CRD"}));
  s.apply({s.parameter("x", shape)});
}

static void drawCenterCropPad(SampleBuilder &s) {
  Shape shape = s.shape(1, 5, 60);
  auto rank = int64_t(shape.size());
  Shape axes = s.axes(rank, s.from(1, rank));
  bool hasAxes = s.cycle();
  std::string x = s.parameter("x", shape);
  if (hasAxes)
    s.attribute("axes", axes);
  s.apply({x, s.ints(s.list(hasAxes ? axes.size() : rank, 1, 6))});
}

std::vector<SampledOp> shapeSamples() {
  return {
      {"Flatten", "x", drawFlatten},
      {"Reshape", "x", drawReshape},
      {"Squeeze", "x", drawSqueeze},
      {"Unsqueeze", "x", drawUnsqueeze},
      {"Transpose", "x", drawTranspose},
      {"Expand", "x", drawExpand},
      {"Tile", "x", drawTile},
      {"Gather", "x", drawGather},
      {"Slice", "x", drawSlice},
      {"Split", "x", drawSplit},
      {"Concat", "a b c", drawConcat},
      {"Pad", "x", drawPad},
      {"DepthToSpace", "x", drawBlocks},
      {"SpaceToDepth", "x", drawBlocks},
      {"CenterCropPad", "x", drawCenterCropPad},
  };
}

} // namespace mpc::test
