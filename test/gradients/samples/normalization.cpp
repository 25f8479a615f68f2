//===- normalization.cpp - Samples of norms, softmax and losses -----------===//

#include "test/gradients/samples/samples.h"

#include <algorithm>

namespace mpc::test {

/// Uses the default of 1e-5 only if many numbers are normalized: with few
/// numbers, the function is strongly curved if they happen to be similar.
static void drawEpsilon(SampleBuilder &s, int64_t count) {
  if (count < 8 || s.oneIn(2))
    s.attribute("epsilon", s.cycle({0.1, 0.01, 0.5}));
}

static int64_t fromFront(int64_t axis, int64_t rank) {
  return axis < 0 ? axis + rank : axis;
}

static void drawLayerNorm(SampleBuilder &s) {
  Shape shape = s.shape(1, 5);
  int64_t axis = s.axis(shape);
  auto first = shape.begin() + fromFront(axis, shape.size());
  Shape rest(first, shape.end());
  drawEpsilon(s, countOf(rest));
  if (axis != -1 || s.oneIn(2))
    s.attribute("axis", axis);
  std::string x = s.parameter("x", shape);
  std::string scale = s.parameter("s", s.broadcasting(rest));
  if (s.op == "RMSNormalization")
    return void(s.apply({x, scale}));
  std::string bias =
      s.cycle({true, false}) ? s.parameter("b", s.broadcasting(rest)) : "";
  s.apply({x, scale, bias});
}

static void drawBatchNorm(SampleBuilder &s) {
  Shape shape = s.shape(0, 3, 12);
  int64_t channels = s.from(1, 5), batch = s.from(2, 5);
  drawEpsilon(s, batch * countOf(shape));
  shape.insert(shape.begin(), {batch, channels});
  if (s.cycle())
    s.attribute("momentum", s.real(0.5, 0.99));
  std::string x = s.parameter("x", shape), scale = s.parameter("s", {channels});
  std::string bias = s.parameter("b", {channels});
  // Running statistics, which training does not read.
  std::string mean = s.parameter("m", {channels}, {0, 0});
  s.apply({x, scale, bias, mean, s.parameter("v", {channels}, {1, 1})});
}

/// Normalizes single channels or groups of channels.
static void drawInstanceNorm(SampleBuilder &s) {
  Shape shape = s.shape(1, 3, 12);
  bool hasGroups = s.op == "GroupNormalization";
  int64_t groups = hasGroups ? s.from(1, 3) : s.from(1, 4);
  int64_t each = hasGroups ? s.from(1, 3) : 1, channels = groups * each;
  drawEpsilon(s, each * countOf(shape));
  shape.insert(shape.begin(), {s.from(1, 3), channels});
  if (hasGroups)
    s.attribute("num_groups", groups);
  int64_t scales = hasGroups && s.opset < 21 ? groups : channels;
  std::string x = s.parameter("x", shape), scale = s.parameter("s", {scales});
  s.apply({x, scale, s.parameter("b", {scales})});
}

static void drawLrn(SampleBuilder &s) {
  Shape shape = s.shape(1, 3, 12);
  shape.insert(shape.begin(), {s.from(1, 2), s.from(1, 7)});
  s.attribute("size", s.from(1, 6));
  if (s.cycle({true, true, false}))
    s.attribute("alpha", s.real(0.1, 2));
  if (s.cycle())
    s.attribute("beta", s.cycle({0.5, 1.0, 0.3, 2.0}));
  if (s.cycle())
    s.attribute("bias", s.real(0.5, 2));
  s.apply({s.parameter("x", shape, {-2, 2})});
}

static void drawLpNorm(SampleBuilder &s) {
  Shape shape = s.shape(1, 5);
  if (s.cycle({true, false}))
    s.attribute("axis", s.axis(shape));
  if (int64_t p = s.cycle<int64_t>({0, 1, 2}))
    s.attribute("p", p);
  s.apply({s.parameter("x", shape, s.oneIn(2) ? Range{0.2, 1} : Range{-1, 1},
                       {0})});
}

/// Standard deviations that are not near 0, where they have a kink.
static void drawMeanVariance(SampleBuilder &s) {
  bool hasAxes = s.cycle();
  Shape shape = s.list(hasAxes ? s.from(2, 5) : 4, 2, 3), axes;
  auto rank = int64_t(shape.size());
  if (hasAxes) {
    axes = s.axes(rank, s.from(1, rank));
    shape[fromFront(axes[0], rank)] = s.from(5, 7);
    s.attribute("axes", axes);
  }
  s.apply({s.parameter("x", shape)});
}

static void drawSoftmax(SampleBuilder &s) {
  Shape shape = s.shape(1, 5);
  int64_t axis = s.axis(shape);
  if (axis != -1 || s.oneIn(2))
    s.attribute("axis", axis);
  Range range = s.cycle<Range>({{-3, 3},
                                {30, 1e4},
                                {-3, 3},
                                {-1e4, -30},
                                {1e4, 1.0003e4},
                                {-3, 3},
                                {-1e4, 1e4}});
  s.apply({s.parameter("x", shape, range)});
}

static void drawDropout(SampleBuilder &s) {
  std::string x = s.parameter("x", s.shape(1, 5));
  int form = s.cycle({1, 0, 1, 2});
  std::string ratio = form ? s.scalar(s.cycle({0.5, 0.2, 0.0, 0.8})) : "";
  s.apply({x, ratio, form == 2 ? s.tensor("bool", {1}, {}) : ""});
}

/// Some labels are ignored; these may be valid classes or not.
static void drawLoss(SampleBuilder &s) {
  Shape spatial = s.shape(0, 2, 6), scores = {s.from(1, 6), s.from(2, 7)};
  Shape shape = {scores[0]};
  int64_t classes = scores[1];
  scores.insert(scores.end(), spatial.begin(), spatial.end());
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  Shape labels = s.list(countOf(shape), 0, classes - 1);
  const char *reduction = s.cycle({"", "sum", "none", "mean"});
  if (*reduction)
    s.attribute("reduction", reduction);
  int64_t ignored = s.cycle<int64_t>({0, -100, 1});
  if (bool ignores = s.cycle(); ignores) {
    s.attribute("ignore_index", ignored);
    for (size_t i = 1; i < labels.size(); ++i)
      if (s.oneIn(3))
        labels[i] = ignored;
    labels[0] = classes - 1 == ignored ? 0 : classes - 1;
  }
  std::string weights;
  if (s.cycle()) {
    Values values(classes);
    for (double &value : values)
      value = s.real(0.5, 2);
    weights = s.floats(values, {classes});
  }
  bool isWhole = s.op == "SoftmaxCrossEntropyLoss";
  Range range = s.cycle<Range>({{-3, 3}, {-3, 3}, {30, 1e4}, {-1e4, 1e4}});
  std::string x = s.parameter("x", scores, range);
  if (!isWhole && s.cycle())
    x = s.let("LogSoftmax <axis = 1> (" + x + ")");
  bool showsLogs = isWhole && s.cycle();
  s.apply({x, s.indices(labels, shape), weights}, showsLogs ? 2 : 1);
  s.use("y0");
  if (showsLogs)
    s.use("y1");
}

std::vector<SampledOp> normalizationSamples() {
  return {
      {"LayerNormalization", "x s b", drawLayerNorm},
      {"RMSNormalization", "x s", drawLayerNorm},
      {"BatchNormalization", "x s b", drawBatchNorm},
      {"InstanceNormalization", "x s b", drawInstanceNorm},
      {"GroupNormalization", "x s b", drawInstanceNorm},
      {"LRN", "x", drawLrn},
      {"LpNormalization", "x", drawLpNorm},
      {"MeanVarianceNormalization", "x", drawMeanVariance},
      {"Softmax", "x", drawSoftmax},
      {"LogSoftmax", "x", drawSoftmax},
      {"Dropout", "x", drawDropout},
      {"SoftmaxCrossEntropyLoss", "x", drawLoss},
      {"NegativeLogLikelihoodLoss", "x", drawLoss},
  };
}

} // namespace mpc::test
