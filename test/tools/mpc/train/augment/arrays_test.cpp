// Arrays that are augmented: crops and colors as of files.

#include "test/tools/mpc/train/data/arrays.h"
#include "tools/mpc/data/augment/AugmentedColumn.h"
#include "tools/mpc/data/augment/ColorJitter.h"
#include "tools/mpc/data/augment/RandomCrop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace mpc;
using namespace mpc::tool;
using namespace mpc::test;

namespace {

/// A batch of a column of floats or bytes.
template <typename Value>
std::vector<Value> gatherFrom(const Column &column, const SampleBatch &batch) {
  size_t size = batch.samples.size();
  for (size_t i = 1; i < column.input.shape.size(); ++i)
    size *= column.input.shape[i];
  std::vector<Value> values(size);
  column.gather(batch, reinterpret_cast<char *>(values.data()));
  return values;
}

/// One image of 6 x 4 pixels with 3 channels, as bytes.
std::vector<uint8_t> somePixels() {
  std::vector<uint8_t> pixels(72);
  for (size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<uint8_t>(i * i * 7);
  return pixels;
}

TEST(AugmentedArrays, AreCroppedAndColoredAsFiles) {
  const ImageOf<uint8_t> image = {6, 4, 3, somePixels()};
  Augmentation how;
  how.crop = 0.2;
  how.color = 0.4;
  Scaling scaling;
  scaling.factors = {0.5f};
  scaling.offsets = {-1};
  std::vector<float> shares;
  for (uint8_t value : image.pixels)
    shares.push_back(value / 255.0f);
  auto columnOf = [&](mpc_dtype_t dtype, npz::Array array, Scaling scale) {
    const Binding input = {"x", dtype, {1, 4, 6, 3}, 0};
    return AugmentedColumn(
        std::make_shared<StoredColumn>(
            input,
            std::vector<StoredArray>{StoredArray("x.npz", std::move(array))},
            scale),
        how);
  };
  const npz::Array bytes =
      makeArray<uint8_t>("x", "uint8", {1, 4, 6, 3}, image.pixels);
  const AugmentedColumn rounded = columnOf(MPC_DTYPE_U8, bytes, {}),
                        scaled = columnOf(MPC_DTYPE_F32, bytes, scaling),
                        floats =
                            columnOf(MPC_DTYPE_F32,
                                     makeArray<float>("x", "float32",
                                                      {1, 4, 6, 3}, shares),
                                     {});
  for (uint64_t pass = 0; pass < 20; ++pass) {
    const SampleBatch batch = {{0}, {pass}, 3};
    const Draws draws(3, pass, 0);
    std::vector<float> wanted = resize(image, drawCrop(draws, 6, 4, 0.2), 6, 4);
    changeColors(wanted, 3, drawColors(draws, 0.4));
    const auto asBytes = gatherFrom<uint8_t>(rounded, batch);
    const auto asScaled = gatherFrom<float>(scaled, batch),
               asShares = gatherFrom<float>(floats, batch);
    for (size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_EQ(asBytes[i], std::lround(wanted[i]));
      ASSERT_FLOAT_EQ(asScaled[i], wanted[i] * 0.5f - 1);
      ASSERT_NEAR(asShares[i], wanted[i] / 255, 1e-6);
    }
  }
  EXPECT_EQ(gatherFrom<uint8_t>(rounded, {{0}, {}, 3}), image.pixels);
}

} // namespace
