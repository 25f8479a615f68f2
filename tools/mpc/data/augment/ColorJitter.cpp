//===- ColorJitter.cpp - Brightness, contrast and saturation --------------===//

#include "tools/mpc/data/augment/ColorJitter.h"

#include <algorithm>

using namespace mpc::tool;

ColorFactors mpc::tool::drawColors(Draws draws, double deviation) {
  draws.begin(Draws::Color);
  ColorFactors factors;
  for (float *factor :
       {&factors.brightness, &factors.contrast, &factors.saturation})
    *factor = static_cast<float>(draws.between(1 - deviation, 1 + deviation));
  return factors;
}

/// Moves a value away from another one.
static float blend(float value, float other, float factor) {
  return std::clamp(factor * value + (1 - factor) * other, 0.0f, 255.0f);
}

/// The luma of a pixel, with the weights that torchvision uses for tensors.
static float grayOf(const float *pixel, uint64_t channels) {
  return channels == 1
             ? pixel[0]
             : 0.2989f * pixel[0] + 0.587f * pixel[1] + 0.114f * pixel[2];
}

void mpc::tool::changeColors(std::vector<float> &pixels, uint64_t channels,
                             const ColorFactors &factors) {
  for (float &value : pixels)
    value = blend(value, 0, factors.brightness);
  double sum = 0;
  for (size_t i = 0; i < pixels.size(); i += channels)
    sum += grayOf(&pixels[i], channels);
  const float mean = sum / (pixels.size() / channels);
  for (float &value : pixels)
    value = blend(value, mean, factors.contrast);
  if (channels == 1)
    return;
  for (size_t i = 0; i < pixels.size(); i += channels) {
    const float gray = grayOf(&pixels[i], channels);
    for (size_t c = 0; c < channels; ++c)
      pixels[i + c] = blend(pixels[i + c], gray, factors.saturation);
  }
}
