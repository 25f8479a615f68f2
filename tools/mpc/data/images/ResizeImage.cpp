//===- ResizeImage.cpp - Images of the size of an input -------------------===//

#include "tools/mpc/data/images/ResizeImage.h"

#include <algorithm>
#include <cmath>

using namespace mpc::tool;

Region mpc::tool::centerOf(const Image &image, uint64_t width,
                           uint64_t height) {
  const double scale = std::min(static_cast<double>(image.width) / width,
                                static_cast<double>(image.height) / height);
  Region region;
  region.width = scale * width;
  region.height = scale * height;
  region.left = (image.width - region.width) / 2;
  region.top = (image.height - region.height) / 2;
  return region;
}

namespace {
/// The pixels that one pixel of the result is the weighted sum of.
struct Taps {
  uint64_t first;
  std::vector<float> weights;
};
} // namespace

/// For each of `count` pixels along one dimension: those of `size` pixels that
/// matter, for the part that begins at `begin` and is `length` long.
static std::vector<Taps> tapsOf(uint64_t size, double begin, double length,
                                uint64_t count) {
  const double scale = length / count, radius = std::max(scale, 1.0);
  std::vector<Taps> all(count);
  for (uint64_t i = 0; i < count; ++i) {
    const double center = begin + (i + 0.5) * scale;
    const double low = std::floor(center - radius + 0.5);
    const double high = std::floor(center + radius + 0.5);
    const uint64_t first = static_cast<uint64_t>(std::max(low, 0.0));
    const uint64_t end =
        static_cast<uint64_t>(std::clamp<double>(high, first + 1.0, size));
    double sum = 0;
    std::vector<double> weights;
    for (uint64_t j = std::min(first, size - 1); j < end; ++j) {
      weights.push_back(
          std::max(0.0, 1 - std::abs((j + 0.5 - center) / radius)));
      sum += weights.back();
    }
    all[i].first = std::min(first, size - 1);
    for (double weight : weights)
      all[i].weights.push_back(
          static_cast<float>(sum > 0 ? weight / sum : 1.0 / weights.size()));
  }
  return all;
}

template <typename Value>
std::vector<float> mpc::tool::resize(const ImageOf<Value> &image,
                                     const Region &region, uint64_t width,
                                     uint64_t height) {
  const uint64_t channels = image.channels;
  const std::vector<Taps> columns = tapsOf(image.width, region.left,
                                           region.width, width),
                          rows = tapsOf(image.height, region.top, region.height,
                                        height);
  // Rows first, so that each row of the image is read once.
  std::vector<float> narrow(image.height * width * channels, 0),
      result(height * width * channels, 0);
  for (uint64_t y = rows.front().first;
       y < rows.back().first + rows.back().weights.size(); ++y) {
    const Value *from = image.pixels.data() + y * image.width * channels;
    float *to = narrow.data() + y * width * channels;
    for (const Taps &taps : columns) {
      for (size_t k = 0; k < taps.weights.size(); ++k)
        for (uint64_t c = 0; c < channels; ++c)
          to[c] += taps.weights[k] * from[(taps.first + k) * channels + c];
      to += channels;
    }
  }
  const uint64_t rowSize = width * channels;
  for (uint64_t y = 0; y < height; ++y)
    for (size_t k = 0; k < rows[y].weights.size(); ++k) {
      const float weight = rows[y].weights[k];
      const float *from = narrow.data() + (rows[y].first + k) * rowSize;
      float *to = result.data() + y * rowSize;
      for (uint64_t i = 0; i < rowSize; ++i)
        to[i] += weight * from[i];
    }
  return result;
}

template std::vector<float>
mpc::tool::resize(const ImageOf<uint8_t> &, const Region &, uint64_t, uint64_t);
template std::vector<float>
mpc::tool::resize(const ImageOf<float> &, const Region &, uint64_t, uint64_t);
