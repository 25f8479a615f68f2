// Arrays that are augmented: crops and colors as of files, and mixed samples.

#include "test/tools/mpc/train/data/arrays.h"
#include "tools/mpc/data/augment/AugmentedColumn.h"
#include "tools/mpc/data/augment/ColorJitter.h"
#include "tools/mpc/data/augment/Mixup.h"
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

TEST(Mixup, MixesEachSampleWithTheOneBefore) {
  const Binding input = {"x", MPC_DTYPE_F32, {3, 2}, 0};
  auto stored = std::make_shared<StoredColumn>(
      input,
      std::vector<StoredArray>{
          StoredArray("x.npz", makeArray<float>("x", "float32", {4, 2},
                                                {1, 2, 3, 4, 5, 6, 7, 8}))},
      Scaling());
  const MixedColumn mixed(stored, 0.4);
  const SampleBatch batch = {{2, 0, 3}, {1, 1, 1}, 5};
  Draws draws(5, 1, 2);
  draws.begin(Draws::Mixup);
  const float own = static_cast<float>(drawBeta(draws, 0.4)), other = 1 - own;
  EXPECT_EQ(gatherFrom<float>(mixed, batch),
            (std::vector<float>{own * 5 + other * 7, own * 6 + other * 8,
                                own * 1 + other * 5, own * 2 + other * 6,
                                own * 7 + other * 1, own * 8 + other * 2}));
  EXPECT_EQ(gatherFrom<float>(mixed, {{2, 0, 3}, {}, 5}),
            (std::vector<float>{5, 6, 1, 2, 7, 8}));
}

TEST(Mixup, DrawsFromTheBetaDistribution) {
  for (double alpha : {0.2, 1.0, 4.0}) {
    constexpr int count = 20000;
    double mean = 0, square = 0;
    for (uint64_t i = 0; i < count; ++i) {
      Draws draws(1, 0, i);
      draws.begin(Draws::Mixup);
      const double share = drawBeta(draws, alpha);
      ASSERT_GE(share, 0);
      ASSERT_LE(share, 1);
      mean += share / count;
      square += (share - 0.5) * (share - 0.5) / count;
    }
    // Five standard errors at most.
    EXPECT_NEAR(mean, 0.5, 0.02) << alpha;
    EXPECT_NEAR(square, 1 / (4 * (2 * alpha + 1)), 0.005) << alpha;
  }
}

} // namespace
