//===- AugmentedColumn.cpp - Images of an array, augmented ----------------===//

#include "tools/mpc/data/augment/AugmentedColumn.h"
#include "tools/mpc/data/augment/ColorJitter.h"
#include "tools/mpc/data/augment/Pixels.h"
#include "tools/mpc/data/augment/RandomCrop.h"

#include <algorithm>
#include <cmath>

using namespace mpc::tool;

AugmentedColumn::AugmentedColumn(std::shared_ptr<const Column> images,
                                 Augmentation what)
    : DerivedColumn(std::move(images)), layout(*ImageLayout::of(input)),
      augmentation(std::move(what)) {
  if (augmentation.color > 0)
    white = original->findWhite("--augment=" + augmentation.describe());
}

/// Crops an image, and changes its colors, as ImageColumn does to that of a
/// file.
template <typename Value>
void AugmentedColumn::changeImage(Value *image, Draws draws) const {
  const float unit = augmentation.color > 0 ? 255 / white : 1;
  ImageOf<float> pixels = {layout.width, layout.height, layout.channels, {}};
  pixels.pixels.resize(layout.size());
  auto forEachPixel = [&](auto use) {
    float *pixel = pixels.pixels.data();
    for (uint64_t y = 0; y < layout.height; ++y)
      for (uint64_t x = 0; x < layout.width; ++x)
        for (uint64_t c = 0; c < layout.channels; ++c)
          use(image[layout.at(c, y, x)], *pixel++);
  };
  forEachPixel([&](Value &value, float &pixel) { pixel = value * unit; });
  if (augmentation.crop)
    pixels.pixels =
        resize(pixels,
               drawCrop(draws, layout.width, layout.height, *augmentation.crop),
               layout.width, layout.height);
  if (augmentation.color > 0)
    changeColors(pixels.pixels, layout.channels,
                 drawColors(draws, augmentation.color));
  forEachPixel([&](Value &value, float &pixel) {
    if constexpr (std::is_same_v<Value, uint8_t>)
      value = static_cast<uint8_t>(
          std::lround(std::clamp(pixel / unit, 0.0f, 255.0f)));
    else
      value = pixel / unit;
  });
}

void AugmentedColumn::gather(const SampleBatch &batch, char *to) const {
  if (!batch.isAugmented())
    return original->gather(batch, to);
  original->gatherUnscaled(batch, to);
  const uint64_t bytes = layout.size() * mpc_dtype_size(input.dtype);
  for (size_t i = 0; i < batch.samples.size(); ++i) {
    char *image = to + i * bytes;
    const Draws draws(batch.seed, batch.passes[i], batch.samples[i]);
    if (augmentation.crop || augmentation.color > 0) {
      if (input.dtype == MPC_DTYPE_F32)
        changeImage(reinterpret_cast<float *>(image), draws);
      else
        changeImage(reinterpret_cast<uint8_t *>(image), draws);
    }
    original->scale(image);
    augmentPixels(input, layout, augmentation, draws, image);
  }
}
