// The order of samples: every sample once per epoch, always in the same order,
// also after an interruption.

#include "tools/mpc/training/Sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace mpc::tool;

namespace {

TEST(Sampler, LeavesOutOtherSamplesEachEpoch) {
  Sampler sampler(10, 4, 1, /*shuffle=*/true);
  EXPECT_EQ(sampler.batchesPerEpoch(), 2u);
  std::set<uint64_t> seen;
  for (int epoch = 0; epoch < 10; ++epoch) {
    std::set<uint64_t> inEpoch;
    for (int batch = 0; batch < 2; ++batch)
      for (uint64_t index : sampler.next().samples) {
        EXPECT_TRUE(inEpoch.insert(index).second);
        EXPECT_LT(index, 10u);
      }
    seen.insert(inEpoch.begin(), inEpoch.end());
  }
  EXPECT_EQ(seen.size(), 10u);
}

TEST(Sampler, KeepsFileOrderWithoutShuffling) {
  Sampler sampler(5, 2, 1, /*shuffle=*/false);
  EXPECT_EQ(sampler.next().samples, (std::vector<uint64_t>{0, 1}));
  EXPECT_EQ(sampler.next().samples, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(sampler.position().epoch, 1u);
  EXPECT_EQ(sampler.position().batch, 0u);
  EXPECT_EQ(sampler.next().samples, (std::vector<uint64_t>{0, 1}));
}

TEST(Sampler, FillsTheLastBatchFromTheBeginning) {
  Sampler sampler(std::make_unique<FileOrder>(5), 3, 1, /*fillsLast=*/true);
  EXPECT_EQ(sampler.batchesPerEpoch(), 2u);
  EXPECT_EQ(sampler.countNew(), 3u);
  EXPECT_EQ(sampler.next().samples, (std::vector<uint64_t>{0, 1, 2}));
  EXPECT_EQ(sampler.countNew(), 2u);
  EXPECT_EQ(sampler.next().samples, (std::vector<uint64_t>{3, 4, 0}));
  EXPECT_EQ(sampler.position().epoch, 1u);
  EXPECT_EQ(sampler.countNew(), 3u);
  Sampler few(std::make_unique<FileOrder>(2), 5, 1, /*fillsLast=*/true);
  EXPECT_EQ(few.batchesPerEpoch(), 1u);
  EXPECT_EQ(few.countNew(), 2u);
  EXPECT_EQ(few.next().samples, (std::vector<uint64_t>{0, 1, 0, 1, 0}));
}

TEST(Sampler, TakesBatchesThatBelongTogether) {
  Sampler sampler(std::make_unique<FileOrder>(23), 3, 1, /*fillsLast=*/false,
                  /*together=*/2);
  EXPECT_EQ(sampler.batchesPerEpoch(), 6u); // Not 7.
  for (int batch = 0; batch < 6; ++batch)
    EXPECT_EQ(sampler.next().samples.front(), 3u * batch);
  EXPECT_EQ(sampler.position().epoch, 1u);
  EXPECT_EQ(Sampler(std::make_unique<FileOrder>(23), 3, 1, /*fillsLast=*/true,
                    /*together=*/2)
                .batchesPerEpoch(),
            8u);
  auto after = [&](uint64_t batch) {
    const Sampler::Position next = sampler.nextRound({5, batch});
    return std::pair(next.epoch, next.batch);
  };
  EXPECT_EQ(after(0), std::pair(uint64_t(5), uint64_t(0)));
  EXPECT_EQ(after(1), std::pair(uint64_t(5), uint64_t(2)));
  EXPECT_EQ(after(4), std::pair(uint64_t(5), uint64_t(4)));
  EXPECT_EQ(after(5), std::pair(uint64_t(6), uint64_t(0)));
  EXPECT_EQ(after(6), std::pair(uint64_t(6), uint64_t(0)));
}

TEST(Sampler, ResumesFromAnyPosition) {
  constexpr int batches = 25; // Eight epochs of three, and one more.
  std::vector<std::vector<uint64_t>> whole;
  std::vector<Sampler::Position> positions;
  Sampler sampler(13, 4, 42, /*shuffle=*/true);
  for (int i = 0; i < batches; ++i) {
    positions.push_back(sampler.position());
    whole.push_back(sampler.next().samples);
  }
  for (int from = 0; from < batches; ++from) {
    Sampler resumed(13, 4, 0, /*shuffle=*/true);
    resumed.reseed(42);
    resumed.seek(positions[from]);
    for (int i = from; i < batches; ++i)
      ASSERT_EQ(resumed.next().samples, whole[i])
          << "from " << from << " at " << i;
  }
}

TEST(Sampler, SeeksWithinAnEpochInUse) {
  Sampler sampler(8, 2, 3, /*shuffle=*/true);
  std::vector<uint64_t> first = sampler.next().samples;
  sampler.next();
  sampler.seek({0, 0});
  EXPECT_EQ(sampler.next().samples, first);
}

TEST(Sampler, KnowsTheNextBatchExceptForNewEpochs) {
  Sampler sampler(7, 2, 3, /*shuffle=*/true);
  EXPECT_TRUE(sampler.following().samples.empty());
  for (int i = 0; i < 8; ++i) {
    SampleBatch expected = sampler.following(), found = sampler.next();
    if (!expected.samples.empty()) {
      EXPECT_EQ(found, expected);
    }
    EXPECT_EQ(expected.samples.empty(), i % 3 == 0);
    EXPECT_EQ(found.seed, 3u);
    EXPECT_EQ(found.passes, std::vector<uint64_t>(2, i / 3));
  }
}

TEST(Sampler, KeepsNoOrderOfManySamplesInMemory) {
  EXPECT_STREQ(makeOrder(kMaxStoredOrder, true)->name(), "");
  EXPECT_STREQ(makeOrder(kMaxStoredOrder + 1, true)->name(), "computed");
  EXPECT_STREQ(makeOrder(kMaxStoredOrder + 1, false)->name(), "");
  // The orders of older versions, for their checkpoints.
  Sampler sampler(kMaxStoredOrder + 1, 2, 5, /*shuffle=*/true);
  sampler.setOrder(std::make_unique<StoredOrder>(kMaxStoredOrder + 1));
  const std::vector<uint64_t> order = permute(kMaxStoredOrder + 1, 5, 0);
  EXPECT_EQ(sampler.next().samples,
            std::vector<uint64_t>(order.begin(), order.begin() + 2));
}

} // namespace
