// The order of samples: every sample once per epoch, always in the same order,
// also after an interruption.

#include "tools/mpc/training/Sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace mpc::tool;

namespace {

TEST(Permute, ContainsEverythingOnce) {
  for (uint64_t count : {0u, 1u, 2u, 3u, 64u, 1500u}) {
    std::vector<uint64_t> order = permute(count, 1, 2);
    std::sort(order.begin(), order.end());
    ASSERT_EQ(order.size(), count);
    for (uint64_t i = 0; i < count; ++i)
      EXPECT_EQ(order[i], i);
  }
}

TEST(Permute, DependsOnSeedAndEpochAlone) {
  EXPECT_EQ(permute(100, 7, 3), permute(100, 7, 3));
  EXPECT_NE(permute(100, 7, 3), permute(100, 8, 3));
  EXPECT_NE(permute(100, 7, 3), permute(100, 7, 4));
  EXPECT_NE(permute(100, 7, 3), permute(100, 7 + (uint64_t(1) << 32), 3));
}

// Training from checkpoints of older versions must continue in the same order.
TEST(Permute, NeverChanges) {
  EXPECT_EQ(permute(8, 0, 0), (std::vector<uint64_t>{3, 7, 1, 2, 6, 4, 0, 5}));
}

// With 6 elements and 7200 epochs, each is 1200 times in each position on
// average, with a standard deviation of 32; a deviation of 5 times that does
// not occur by chance.
TEST(Permute, IsUniform) {
  constexpr int size = 6, epochs = 7200;
  int counts[size][size] = {};
  for (int epoch = 0; epoch < epochs; ++epoch) {
    std::vector<uint64_t> order = permute(size, 11, epoch);
    for (int place = 0; place < size; ++place)
      ++counts[place][order[place]];
  }
  for (auto &row : counts)
    for (int count : row)
      EXPECT_NEAR(count, epochs / size, 160);
}

TEST(Sampler, LeavesOutOtherSamplesEachEpoch) {
  Sampler sampler(10, 4, 1, /*shuffle=*/true);
  EXPECT_EQ(sampler.batchesPerEpoch(), 2u);
  std::set<uint64_t> seen;
  for (int epoch = 0; epoch < 10; ++epoch) {
    std::set<uint64_t> inEpoch;
    for (int batch = 0; batch < 2; ++batch)
      for (uint64_t index : sampler.next()) {
        EXPECT_TRUE(inEpoch.insert(index).second);
        EXPECT_LT(index, 10u);
      }
    seen.insert(inEpoch.begin(), inEpoch.end());
  }
  EXPECT_EQ(seen.size(), 10u);
}

TEST(Sampler, KeepsFileOrderWithoutShuffling) {
  Sampler sampler(5, 2, 1, /*shuffle=*/false);
  EXPECT_EQ(sampler.next(), (std::vector<uint64_t>{0, 1}));
  EXPECT_EQ(sampler.next(), (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(sampler.position().epoch, 1u);
  EXPECT_EQ(sampler.position().batch, 0u);
  EXPECT_EQ(sampler.next(), (std::vector<uint64_t>{0, 1}));
}

TEST(Sampler, ResumesFromAnyPosition) {
  constexpr int batches = 25; // Eight epochs of three, and one more.
  std::vector<std::vector<uint64_t>> whole;
  std::vector<Sampler::Position> positions;
  Sampler sampler(13, 4, 42, /*shuffle=*/true);
  for (int i = 0; i < batches; ++i) {
    positions.push_back(sampler.position());
    whole.push_back(sampler.next());
  }
  for (int from = 0; from < batches; ++from) {
    Sampler resumed(13, 4, 0, /*shuffle=*/true);
    resumed.reseed(42);
    resumed.seek(positions[from]);
    for (int i = from; i < batches; ++i)
      ASSERT_EQ(resumed.next(), whole[i]) << "from " << from << " at " << i;
  }
}

TEST(Sampler, SeeksWithinAnEpochInUse) {
  Sampler sampler(8, 2, 3, /*shuffle=*/true);
  std::vector<uint64_t> first = sampler.next();
  sampler.next();
  sampler.seek({0, 0});
  EXPECT_EQ(sampler.next(), first);
}

} // namespace
