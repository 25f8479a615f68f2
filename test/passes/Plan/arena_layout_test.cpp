//===- arena_layout_test.cpp - Regions never meet in time and space -------===//

#include "passes/Plan/ArenaLayout.h"

#include "compiler/Catalog/Catalog.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"

#include <random>

using namespace mpc;

namespace {

int64_t padded(int64_t size) { return llvm::alignTo(size, kBufferAlignment); }

/// Bytes that are needed at the same time at most: no layout can be smaller.
int64_t leastSize(llvm::ArrayRef<Lifetime> regions) {
  int64_t most = 0;
  for (const Lifetime &moment : regions) {
    int64_t live = 0;
    for (const Lifetime &region : regions)
      if (region.first <= moment.first && moment.first <= region.last)
        live += padded(region.size);
    most = std::max(most, live);
  }
  return most;
}

void checkLayout(llvm::MutableArrayRef<Lifetime> regions) {
  int64_t size = layOutArena(regions);
  int64_t sum = 0;
  for (const Lifetime &region : regions) {
    sum += padded(region.size);
    EXPECT_GE(region.offset, 0);
    EXPECT_EQ(region.offset % kBufferAlignment, 0);
    EXPECT_LE(region.offset + region.size, size);
  }
  EXPECT_LE(size, sum);
  EXPECT_GE(size, leastSize(regions));
  for (size_t i = 0; i < regions.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Lifetime &a = regions[i], &b = regions[j];
      bool inTime = a.first <= b.last && b.first <= a.last;
      bool inSpace =
          a.offset < b.offset + b.size && b.offset < a.offset + a.size;
      EXPECT_FALSE(inTime && inSpace) << i << " and " << j;
    }
}

TEST(ArenaLayout, NothingTakesNothing) { EXPECT_EQ(layOutArena({}), 0); }

TEST(ArenaLayout, RandomLifetimes) {
  std::mt19937 random(1);
  double share = 0;
  constexpr int kRounds = 500;
  for (int round = 0; round < kRounds; ++round) {
    llvm::SmallVector<Lifetime> regions(1 + random() % 60);
    for (Lifetime &region : regions) {
      region.size = random() % 5 == 0 ? random() % 4 : random() % 100000;
      region.first = int64_t(random() % 50) - 1;
      region.last = region.first + random() % (random() % 4 == 0 ? 50 : 5);
    }
    checkLayout(regions);
    share +=
        double(layOutArena(regions)) / std::max<int64_t>(leastSize(regions), 1);
  }
  // Best fit by size comes close to the bound; worse than this is a defect.
  EXPECT_LT(share / kRounds, 1.15);
  RecordProperty("share_of_bound", std::to_string(share / kRounds));
}

TEST(ArenaLayout, AChainTakesTwo) {
  llvm::SmallVector<Lifetime> regions;
  for (int64_t i = 0; i < 20; ++i)
    regions.push_back({1024, i, i + 1});
  EXPECT_EQ(layOutArena(regions), 2048);
}

} // namespace
