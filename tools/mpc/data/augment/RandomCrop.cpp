//===- RandomCrop.cpp - A random part of an image -------------------------===//

#include "tools/mpc/data/augment/RandomCrop.h"

#include <algorithm>
#include <cmath>

using namespace mpc::tool;

Region mpc::tool::drawCrop(Draws draws, uint64_t width, uint64_t height,
                           double minScale) {
  constexpr int kMaxTries = 10;
  constexpr double kMinRatio = 3.0 / 4, kMaxRatio = 4.0 / 3;
  draws.begin(Draws::Crop);
  for (int i = 0; i < kMaxTries; ++i) {
    const double area = draws.between(minScale, 1) * width * height;
    const double ratio =
        std::exp(draws.between(std::log(kMinRatio), std::log(kMaxRatio)));
    const uint64_t w = std::llround(std::sqrt(area * ratio)),
                   h = std::llround(std::sqrt(area / ratio));
    if (w == 0 || h == 0 || w > width || h > height)
      continue;
    Region region;
    region.top = draws.below(height - h + 1);
    region.left = draws.below(width - w + 1);
    region.width = w;
    region.height = h;
    return region;
  }
  const double ratio = static_cast<double>(width) / height;
  Region region;
  region.width = width;
  region.height = height;
  if (ratio < kMinRatio)
    region.height = std::round(width / kMinRatio);
  else if (ratio > kMaxRatio)
    region.width = std::round(height * kMaxRatio);
  region.left = std::floor((width - region.width) / 2);
  region.top = std::floor((height - region.height) / 2);
  return region;
}
