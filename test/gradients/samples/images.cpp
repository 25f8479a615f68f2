//===- images.cpp - Samples of resampling ops and DFT ---------------------===//

#include "test/gradients/samples/samples.h"

#include <algorithm>
#include <numeric>

namespace mpc::test {

/// Scales or sizes of some dimensions.
static void drawResize(SampleBuilder &s) {
  std::string mode = s.cycle({"nearest", "linear", "cubic"});
  std::string coordinates = s.cycle(
      {"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel",
       "tf_crop_and_resize", s.opset >= 19 ? "half_pixel_symmetric" : ""});
  Shape shape = s.shape(1, 4, 60);
  auto rank = int64_t(shape.size());
  bool hasAxes = s.opset >= 18 && s.oneIn(2), isCrop = coordinates[0] == 't';
  Shape axes(rank), sizes;
  std::iota(axes.begin(), axes.end(), 0);
  if (hasAxes)
    axes = s.axes(rank, s.from(1, std::min<int64_t>(rank, 2)));
  Values scales, begins, ends;
  bool areSizes = s.cycle();
  const char *policy = s.opset >= 18 && areSizes
                           ? s.cycle({"", "not_larger", "not_smaller"})
                           : "";
  int changed = 0;
  for (int64_t axis : axes) {
    int64_t extent = shape[axis < 0 ? axis + rank : axis];
    bool changes = hasAxes || (s.oneIn(2) && changed++ < 2);
    // A common scale must not make any extent 0.
    int64_t least = *policy ? (extent + 1) / 2 : 1;
    sizes.push_back(
        changes ? s.from(least, least + std::min<int64_t>(extent, 9)) : extent);
    scales.push_back(changes ? (double(sizes.back()) + s.real(0.1, 0.9)) /
                                   double(extent)
                             : 1.0);
    begins.push_back(s.real(-0.2, 0.3));
    ends.push_back(s.real(0.6, 1.2));
  }
  s.attribute("mode", mode.c_str());
  if (!coordinates.empty())
    s.attribute("coordinate_transformation_mode", coordinates.c_str());
  if (mode == "nearest")
    s.attribute("nearest_mode", s.cycle({"round_prefer_floor", "ceil", "floor",
                                         "round_prefer_ceil"}));
  if (mode == "cubic" && s.oneIn(2))
    s.attribute("cubic_coeff_a", -0.5);
  if (mode == "cubic" && !isCrop && s.oneIn(2))
    s.attribute("exclude_outside", 1);
  if (isCrop)
    s.attribute("extrapolation_value", s.real(-1, 1));
  if (s.opset >= 18 && mode != "nearest" && s.oneIn(3))
    s.attribute("antialias", 1);
  if (*policy)
    s.attribute("keep_aspect_ratio_policy", policy);
  if (hasAxes)
    s.attribute("axes", axes);
  auto count = int64_t(axes.size());
  begins.insert(begins.end(), ends.begin(), ends.end());
  std::string x = s.parameter("x", shape);
  std::string roi = isCrop ? s.floats(begins, {2 * count}) : "";
  std::string by = areSizes ? s.ints(sizes) : s.floats(scales, {count});
  s.apply({x, roi, areSizes ? "" : by, areSizes ? by : ""});
}

/// Positions at pixels or halfway between two, where interpolation has kinks.
static Values kinksOf(const Shape &image, bool alignCorners) {
  Values kinks;
  for (int64_t extent : image)
    for (int64_t half = -2 * extent; half <= 4 * extent; ++half) {
      double place = double(half) / 2, width = double(extent);
      double kink = alignCorners ? 2 * place / std::max(width - 1, 1.0) - 1
                                 : (2 * place + 1) / width - 1;
      if (kink > -1.5 && kink < 1.5)
        kinks.push_back(kink);
    }
  return kinks;
}

static void drawGridSample(SampleBuilder &s) {
  std::string mode = s.cycle({"linear", "nearest", "cubic"});
  const char *padding = s.cycle({"zeros", "border", "reflection"});
  bool alignCorners = s.cycle();
  auto rank = int64_t(s.cycle({2, 3, 1, 2}));
  if (mode == "cubic")
    rank = std::min<int64_t>(rank, 2);
  Shape image = s.list(rank, 1, rank == 3 ? 3 : 5);
  Shape points = s.list(rank, 1, rank == 3 ? 2 : 3);
  int64_t batch = s.from(1, 2);
  Shape shape = {batch, s.from(1, 3)}, grid = {batch};
  shape.insert(shape.end(), image.begin(), image.end());
  grid.insert(grid.end(), points.begin(), points.end());
  grid.push_back(rank);
  bool isOld = s.opset < 20;
  s.attribute("mode", mode == "linear"  ? isOld ? "bilinear" : "linear"
                      : mode == "cubic" ? isOld ? "bicubic" : "cubic"
                                        : "nearest");
  s.attribute("padding_mode", padding);
  if (alignCorners)
    s.attribute("align_corners", 1);
  std::string x = s.parameter("x", shape);
  s.apply({x, s.parameter("g", grid,
                          s.cycle() ? Range{-1.3, 1.3} : Range{-0.9, 0.9},
                          kinksOf(image, alignCorners))});
}

static void drawRoiAlign(SampleBuilder &s) {
  Shape image = s.list(2, 1, 7);
  int64_t batch = s.from(1, 3), regions = s.from(1, 3);
  Values boxes;
  for (int64_t i = 0; i < regions; ++i) {
    double left = s.real(-2, image[1]), top = s.real(-2, image[0]);
    boxes.insert(boxes.end(),
                 {left, top, left + s.real(0.1, 6), top + s.real(0.1, 6)});
  }
  s.attribute("mode", s.cycle({"avg", "max"}));
  s.attribute("output_height", s.from(1, 3));
  s.attribute("output_width", s.from(1, 3));
  s.attribute("sampling_ratio", s.from(1, 3));
  s.attribute("spatial_scale", s.cycle({1.0, 0.7}));
  if (s.opset >= 16)
    s.attribute("coordinate_transformation_mode",
                s.cycle({"half_pixel", "output_half_pixel"}));
  std::string x = s.parameter("x", {batch, s.from(1, 3), image[0], image[1]});
  s.apply({x, s.floats(boxes, {regions, 4}),
           s.tensor("int64", s.list(regions, 0, batch - 1), {regions})});
}

static void drawAffineGrid(SampleBuilder &s) {
  int64_t rank = s.cycle({2, 3}), batch = s.from(1, 3);
  Shape size = s.list(2 + rank, 1, 4);
  size[0] = batch;
  if (s.cycle())
    s.attribute("align_corners", 1);
  std::string t = s.parameter("t", {batch, rank, rank + 1});
  s.apply({t, s.ints(size)});
}

/// The whole signal, truncated or padded; real or complex; forward or inverse.
static void drawDft(SampleBuilder &s) {
  Shape shape = s.shape(1, 3, 30);
  auto rank = int64_t(shape.size()) + 1;
  int64_t axis = s.from(0, rank - 2), length = shape[axis];
  bool inverse = s.cycle(), onesided = s.cycle({false, false, true});
  shape.push_back(onesided ? 1 + inverse : s.cycle({1, 2}));
  if (s.cycle({false, true, true}))
    length = s.from(1, 9);
  std::string given =
      length == shape[axis] && s.oneIn(2) ? "" : s.scalar(length);
  if (s.oneIn(3))
    axis -= rank;
  if (inverse)
    s.attribute("inverse", 1);
  if (onesided)
    s.attribute("onesided", 1);
  std::string x = s.parameter("x", shape), place;
  if (s.opset >= 20)
    place = s.scalar(axis);
  else
    s.attribute("axis", axis);
  s.apply({x, given, place});
}

std::vector<SampledOp> imageSamples() {
  return {
      {"Resize", "x", drawResize},     {"GridSample", "x g", drawGridSample},
      {"RoiAlign", "x", drawRoiAlign}, {"AffineGrid", "t", drawAffineGrid},
      {"DFT", "x", drawDft},
  };
}

} // namespace mpc::test
