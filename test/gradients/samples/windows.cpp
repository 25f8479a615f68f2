//===- windows.cpp - Samples of convolution and pooling -------------------===//

#include "test/gradients/samples/samples.h"

#include <algorithm>

namespace mpc::test {

namespace {

/// A window in one to three dimensions that fits into an image.
struct Window {
  Shape kernel, strides, dilations, pads, image;

  size_t rank() const { return kernel.size(); }
  int64_t span(size_t dim) const {
    return (kernel[dim] - 1) * dilations[dim] + 1;
  }
};

} // namespace

/// If `maySpill`, images may be smaller than the window, with enough padding.
/// Attributes with default values are sometimes left out.
static Window drawWindow(SampleBuilder &s, bool maySpill,
                         bool hasDilations = true) {
  Window window;
  auto rank = size_t(s.cycle({2, 1, 2, 3}));
  int64_t mostKernel = rank == 3 ? 2 : 3;
  window.kernel = s.list(rank, 1, mostKernel);
  window.strides = s.cycle() ? s.list(rank, 1, 3) : Shape(rank, 1);
  window.dilations =
      hasDilations && s.cycle() ? s.list(rank, 1, 3) : Shape(rank, 1);
  const char *autoPad =
      s.cycle({"", "", "SAME_UPPER", "", "SAME_LOWER", "VALID"});
  window.pads.assign(2 * rank, 0);
  for (size_t dim = 0; dim < 2 * rank && !*autoPad; ++dim)
    window.pads[dim] =
        s.from(0, std::min<int64_t>(2, window.span(dim % rank) - 1));
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t spill = maySpill ? window.pads[dim] + window.pads[rank + dim] : 0;
    window.image.push_back(std::max<int64_t>(window.span(dim) - spill, 1) +
                           s.from(0, rank == 3 ? 1 : 3));
  }
  if (window.strides != Shape(rank, 1) || s.oneIn(3))
    s.attribute("strides", window.strides);
  if (window.dilations != Shape(rank, 1))
    s.attribute("dilations", window.dilations);
  if (*autoPad)
    s.attribute("auto_pad", autoPad);
  else if (s.oneIn(2) || window.pads != Shape(2 * rank, 0))
    s.attribute("pads", window.pads);
  return window;
}

static Shape imageOf(Shape shape, const Shape &extents) {
  shape.insert(shape.end(), extents.begin(), extents.end());
  return shape;
}

static void drawConv(SampleBuilder &s) {
  int64_t group = s.cycle<int64_t>({1, 2, 1, 3}), depth = s.from(1, 2);
  int64_t outputs = group * s.from(1, 3);
  Window window = drawWindow(s, /*maySpill=*/true);
  if (group > 1 || s.oneIn(4))
    s.attribute("group", group);
  if (s.oneIn(3))
    s.attribute("kernel_shape", window.kernel);
  std::string x =
      s.parameter("x", imageOf({s.from(1, 2), group * depth}, window.image));
  std::string w = s.parameter("w", imageOf({outputs, depth}, window.kernel));
  s.apply({x, w, s.cycle({true, false}) ? s.parameter("b", {outputs}) : ""});
}

/// Pads, output padding or output shape.
static void drawConvTranspose(SampleBuilder &s) {
  int64_t group = s.cycle<int64_t>({1, 2, 1, 3}), depth = s.from(1, 2);
  int64_t inputs = group * s.from(1, 2);
  auto rank = size_t(s.cycle({2, 1, 2, 3}));
  Shape kernel = s.list(rank, 1, rank == 3 ? 2 : 3);
  Shape image = s.list(rank, 1, rank == 3 ? 2 : 4);
  Shape strides = s.cycle() ? s.list(rank, 1, 3) : Shape(rank, 1);
  Shape dilations = s.cycle() ? s.list(rank, 1, 2) : Shape(rank, 1);
  Shape pads(2 * rank, 0), added(rank, 0), wanted(rank, 0);
  int form = s.cycle({0, 1, 2, 3, 0, 4});
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t span = (kernel[dim] - 1) * dilations[dim] + 1;
    int64_t whole = strides[dim] * (image[dim] - 1) + span;
    pads[dim] = s.from(0, std::min<int64_t>(2, (whole - 1) / 2));
    pads[rank + dim] = s.from(0, std::min<int64_t>(2, (whole - 1) / 2));
    added[dim] = s.from(0, strides[dim] - 1);
    wanted[dim] =
        s.from(std::max<int64_t>(1, whole - 2), whole + strides[dim] - 1);
  }
  if (form < 2)
    s.attribute("pads", pads);
  if (form == 1)
    s.attribute("output_padding", added);
  if (form == 2)
    s.attribute("output_shape", wanted);
  if (form == 3)
    s.attribute("auto_pad", s.oneIn(2) ? "SAME_UPPER" : "SAME_LOWER");
  s.attribute("strides", strides);
  s.attribute("dilations", dilations);
  s.attribute("group", group);
  std::string x = s.parameter("x", imageOf({s.from(1, 2), inputs}, image));
  std::string w = s.parameter("w", imageOf({inputs, depth}, kernel));
  s.apply(
      {x, w, s.cycle({true, false}) ? s.parameter("b", {depth * group}) : ""});
}

static void drawCol2Im(SampleBuilder &s) {
  auto rank = size_t(s.cycle({2, 1, 2, 3}));
  Shape kernel = s.list(rank, 1, rank == 3 ? 2 : 3), image;
  Shape strides = s.cycle() ? s.list(rank, 1, 3) : Shape(rank, 1);
  Shape dilations = s.cycle() ? s.list(rank, 1, 2) : Shape(rank, 1);
  Shape pads = s.cycle() ? s.list(2 * rank, 0, 1) : Shape(2 * rank, 0);
  int64_t positions = 1;
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t span = (kernel[dim] - 1) * dilations[dim] + 1;
    image.push_back(span + s.from(0, 2));
    int64_t room = image[dim] + pads[dim] + pads[rank + dim] - span;
    positions *= room / strides[dim] + 1;
  }
  s.attribute("strides", strides);
  s.attribute("dilations", dilations);
  s.attribute("pads", pads);
  Shape shape = {s.from(1, 2), s.from(1, 2) * countOf(kernel), positions};
  std::string x = s.parameter("x", shape), extents = s.ints(image);
  s.apply({x, extents, s.ints(kernel)});
}

static void drawMaxPool(SampleBuilder &s) {
  Window window = drawWindow(s, /*maySpill=*/false);
  s.attribute("kernel_shape", window.kernel);
  if (s.cycle())
    s.attribute("ceil_mode", 1);
  bool wantsIndices = s.cycle({false, false, true});
  if (s.oneIn(4))
    s.attribute("storage_order", 1);
  s.apply(
      {s.parameter("x", imageOf({s.from(1, 2), s.from(1, 3)}, window.image))},
      wantsIndices ? 2 : 1);
  s.use("y0");
  if (wantsIndices) // They have no gradient, but their values matter.
    s.use(s.let("Mul (y0, " + s.let("Cast <to = 1> (y1)") + ")"));
}

static void drawAveragePool(SampleBuilder &s) {
  Window window =
      drawWindow(s, /*maySpill=*/false, /*hasDilations=*/s.opset >= 19);
  s.attribute("kernel_shape", window.kernel);
  if (s.cycle())
    s.attribute("ceil_mode", 1);
  if (s.cycle())
    s.attribute("count_include_pad", 1);
  s.apply(
      {s.parameter("x", imageOf({s.from(1, 2), s.from(1, 3)}, window.image))});
}

/// Norms have a kink at zero, and are strongly curved near it.
static void drawLpPool(SampleBuilder &s) {
  Window window =
      drawWindow(s, /*maySpill=*/false, /*hasDilations=*/s.opset >= 18);
  s.attribute("kernel_shape", window.kernel);
  if (s.opset >= 18 && s.cycle())
    s.attribute("ceil_mode", 1);
  if (int64_t p = s.cycle<int64_t>({0, 1, 2, 3, 4}))
    s.attribute("p", p);
  s.apply({s.parameter("x", imageOf({s.from(1, 2), s.from(1, 3)}, window.image),
                       s.oneIn(2) ? Range{0.2, 1} : Range{-1, -0.2})});
}

static void drawGlobalPool(SampleBuilder &s) {
  Shape image = s.shape(1, 3, 30);
  bool isNorm = s.op == "GlobalLpPool";
  if (int64_t p = isNorm ? s.cycle<int64_t>({0, 1, 2, 3, 4}) : 0)
    s.attribute("p", p);
  Range range = !isNorm      ? Range{-1, 1}
                : s.oneIn(2) ? Range{0.2, 1}
                             : Range{-1, -0.2};
  s.apply(
      {s.parameter("x", imageOf({s.from(1, 3), s.from(1, 3)}, image), range)});
}

std::vector<SampledOp> windowSamples() {
  return {
      {"Conv", "x w b", drawConv},
      {"ConvTranspose", "x w b", drawConvTranspose},
      {"Col2Im", "x", drawCol2Im},
      {"MaxPool", "x", drawMaxPool},
      {"AveragePool", "x", drawAveragePool},
      {"LpPool", "x", drawLpPool},
      {"GlobalMaxPool", "x", drawGlobalPool},
      {"GlobalLpPool", "x", drawGlobalPool},
      {"GlobalAveragePool", "x", drawGlobalPool},
  };
}

} // namespace mpc::test
