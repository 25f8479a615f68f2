// Crops of decoded files, also of JPEG files that are decoded at a fraction of
// their size.

#include "test/tools/mpc/train/data/arrays.h"
#include "tools/mpc/data/augment/RandomCrop.h"

#include <gtest/gtest.h>

#include <set>

using namespace mpc;
using namespace mpc::tool;
using namespace mpc::test;

namespace {

const Binding kImage = {"image", MPC_DTYPE_F32, {1, 8, 8, 3}, 0};

std::unique_ptr<Dataset> openPhoto(const char *folder, const char *augment) {
  DataOptions options(std::string(MPC_AUGMENT_GOLDENS "/") + folder);
  options.augment = augment;
  return std::make_unique<Dataset>(options, std::vector<Binding>{kImage});
}

TEST(AugmentedFiles, AreCroppedBeforeTheyAreResized) {
  auto png = openPhoto("png", "crop=0.1"), jpeg = openPhoto("jpeg", "crop=0.1");
  const Image photo = decodeImage(MPC_AUGMENT_GOLDENS "/png/photo.png", 3,
                                  [](ImageSize size) { return size; });
  std::set<std::vector<float>> seen;
  for (uint64_t pass = 0; pass < 30; ++pass) {
    const SampleBatch batch = {{0}, {pass}, /*seed=*/9};
    const std::vector<float> found = valuesOf<float>(png->gather(batch)[0]),
                             reduced = valuesOf<float>(jpeg->gather(batch)[0]),
                             expected = resize(
                                 photo,
                                 drawCrop(Draws(9, pass, 0), 96, 64, 0.1), 8,
                                 8);
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_FLOAT_EQ(found[i], expected[i] / 255);
      // Smooth colors, but each step of the filters blurs them.
      ASSERT_NEAR(reduced[i], found[i], 0.03) << "pass " << pass;
    }
    seen.insert(found);
  }
  EXPECT_EQ(seen.size(), 30u);
}

TEST(AugmentedFiles, AreNotAugmentedForEvaluations) {
  auto plain = openPhoto("jpeg", ""),
       augmented =
           openPhoto("jpeg", "crop,color=0.5,flip,vflip,rotate=9,pad=3");
  EXPECT_EQ(valuesOf<float>(augmented->gather({0})[0]),
            valuesOf<float>(plain->gather({0})[0]));
}

TEST(AugmentedFiles, HaveTheirOwnColorsInEachPass) {
  auto photos = openPhoto("png", "color=0.5");
  auto imageOf = [&](uint64_t seed, uint64_t pass) {
    return valuesOf<float>(photos->gather(SampleBatch{{0}, {pass}, seed})[0]);
  };
  EXPECT_EQ(imageOf(1, 1), imageOf(1, 1));
  EXPECT_NE(imageOf(1, 1), imageOf(1, 2));
  EXPECT_NE(imageOf(1, 1), imageOf(2, 1));
}

} // namespace
