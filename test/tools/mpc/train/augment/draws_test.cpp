// What is drawn for a sample: it depends on seed, pass and sample alone.

#include "test/tools/mpc/train/data/arrays.h"
#include "tools/mpc/data/augment/RandomCrop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>

using namespace mpc;
using namespace mpc::tool;
using namespace mpc::test;

namespace {

TEST(Draws, DependOnAllArguments) {
  std::set<double> seen;
  for (uint64_t seed : {0, 1})
    for (uint64_t pass : {0, 1})
      for (uint64_t sample : {0, 1})
        for (auto purpose : {Draws::Flip, Draws::Crop}) {
          Draws draws(seed, pass, sample);
          draws.begin(purpose);
          seen.insert(draws.unit());
          seen.insert(draws.unit());
        }
  EXPECT_EQ(seen.size(), 32u);
}

/// 30 x 20 pixels, and at least a quarter of them.
TEST(RandomCrop, IsOfTheSizeAndProportionsThatAreAllowed) {
  constexpr int count = 4000;
  double left = 0, area = 0;
  int portrait = 0;
  for (uint64_t sample = 0; sample < count; ++sample) {
    const Region part = drawCrop(Draws(1, 2, sample), 300, 200, 0.25);
    ASSERT_GE(part.left, 0);
    ASSERT_GE(part.top, 0);
    ASSERT_LE(part.left + part.width, 300);
    ASSERT_LE(part.top + part.height, 200);
    // Width and height are rounded to pixels.
    ASSERT_NEAR(std::log(part.width / part.height), 0,
                std::log(4.0 / 3) + 0.01);
    const double share = part.width * part.height / 60000;
    ASSERT_GT(share, 0.245);
    area += share / count;
    left +=
        (300 - part.width > 0 ? part.left / (300 - part.width) : 0.5) / count;
    portrait += part.height > part.width;
  }
  EXPECT_NEAR(left, 0.5, 0.02);
  EXPECT_LT(area, 0.625); // Large parts do not fit as often.
  EXPECT_GT(area, 0.45);
  EXPECT_GT(portrait, count / 5);
}

// What torchvision's RandomResizedCrop takes if nothing fits.
TEST(RandomCrop, TakesTheMiddleOfLongImages) {
  const Region tall = drawCrop(Draws(0, 0, 0), 10, 1000, 0.9),
               wide = drawCrop(Draws(0, 0, 0), 1000, 9, 0.9);
  EXPECT_EQ(tall.left, 0);
  EXPECT_EQ(tall.top, 493);
  EXPECT_EQ(tall.width, 10);
  EXPECT_EQ(tall.height, 13);
  EXPECT_EQ(wide.left, 494);
  EXPECT_EQ(wide.top, 0);
  EXPECT_EQ(wide.width, 12);
  EXPECT_EQ(wide.height, 9);
}

/// Writes 40 bytes, which are their own positions, and cuts them into windows
/// of four.
struct Windows {
  static constexpr uint64_t kStride = 4, kTokens = 40;
  const Binding ids = {"ids", MPC_DTYPE_I64, {2, 4}, 0},
                labels = {"labels", MPC_DTYPE_I64, {2, 4}, 0};
  std::unique_ptr<Dataset> data;

  explicit Windows(const char *augment) {
    DataOptions options(::testing::TempDir() + "mpc-windows.txt");
    options.augment = augment;
    std::string text;
    for (uint64_t i = 0; i < kTokens; ++i)
      text += static_cast<char>(i);
    std::ofstream(options.path) << text;
    data =
        std::make_unique<Dataset>(options, std::vector<Binding>{ids, labels});
    std::remove(options.path.c_str());
  }
};

TEST(ShiftedWindows, BeginAtAnotherTokenInEachPass) {
  Windows windows("shift"), fixed("");
  EXPECT_EQ(fixed.data->numSamples(), 9u);
  // All begin up to three tokens later: tokens 35 to 38, and a label, fit.
  EXPECT_EQ(windows.data->numSamples(), 9u);
  std::set<int64_t> shifts;
  for (uint64_t pass = 0; pass < 40; ++pass) {
    const auto &tensors =
        windows.data->gather(SampleBatch{{8, 2}, {pass, pass}, /*seed=*/1});
    const std::vector<int64_t> ids = valuesOf<int64_t>(tensors[0]),
                               labels = valuesOf<int64_t>(tensors[1]);
    const int64_t shift = ids[0] - 32;
    shifts.insert(shift);
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(ids[i], 32 + shift + i);
      EXPECT_EQ(ids[4 + i], 8 + shift + i);
      EXPECT_EQ(labels[i], ids[i] + 1);
      EXPECT_EQ(labels[4 + i], ids[4 + i] + 1);
    }
  }
  EXPECT_EQ(shifts, (std::set<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(valuesOf<int64_t>(windows.data->gather({8, 2})[0]),
            valuesOf<int64_t>(fixed.data->gather({8, 2})[0]));
}

} // namespace
