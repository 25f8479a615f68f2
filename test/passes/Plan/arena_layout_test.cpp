//===- arena_layout_test.cpp - Layout of overlapping lifetimes ------------===//

#include "passes/Plan/ArenaLayout.h"

#include "compiler/Catalog/Catalog.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"

#include <random>

using namespace mpc;

namespace {

int64_t padded(int64_t size) { return llvm::alignTo(size, kBufferAlignment); }

/// The maximum number of bytes in use at the same time: no layout can be
/// smaller. The maximum occurs at the end of some region.
int64_t leastSize(llvm::ArrayRef<Lifetime> regions) {
  int64_t most = 0;
  for (const Lifetime &moment : regions) {
    int64_t live = 0;
    for (const Lifetime &region : regions)
      for (const Lifetime::Part &part : region.parts)
        if (part.first <= moment.last && moment.last <= region.last)
          live += padded(part.end) - part.begin;
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
  EXPECT_EQ(arenaLowerBound(regions), leastSize(regions));
  EXPECT_GE(size, leastSize(regions));
  for (size_t i = 0; i < regions.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Lifetime &a = regions[i], &b = regions[j];
      for (const Lifetime::Part &x : a.parts)
        for (const Lifetime::Part &y : b.parts) {
          bool inTime = x.first <= b.last && y.first <= a.last;
          bool inSpace = a.offset + x.begin < b.offset + y.end &&
                         b.offset + y.begin < a.offset + x.end;
          EXPECT_FALSE(inTime && inSpace) << i << " and " << j;
        }
    }
}

TEST(ArenaLayout, EmptyLayoutHasSizeZero) { EXPECT_EQ(layOutArena({}), 0); }

TEST(ArenaLayout, RandomLifetimes) {
  std::mt19937 random(1);
  double share = 0;
  constexpr int kRounds = 500;
  for (int round = 0; round < kRounds; ++round) {
    llvm::SmallVector<Lifetime> regions(1 + random() % 60);
    for (Lifetime &region : regions) {
      int64_t size = random() % 5 == 0 ? random() % 4 : random() % 100000;
      int64_t first = int64_t(random() % 50) - 1;
      region = Lifetime::whole(size, first,
                               first + random() % (random() % 4 == 0 ? 50 : 5));
    }
    // A region that is written part by part.
    if (random() % 2 == 0) {
      Lifetime packed = {0, 50, {}};
      for (int part = 0; part < 8; ++part) {
        int64_t begin = padded(packed.size);
        packed.size = begin + random() % 50000;
        packed.parts.push_back({begin, packed.size, int64_t(random() % 50)});
      }
      regions.push_back(packed);
    }
    checkLayout(regions);
    share +=
        double(layOutArena(regions)) / std::max<int64_t>(leastSize(regions), 1);
  }
  // The best order is close to the bound; a worse result is a defect.
  EXPECT_LT(share / kRounds, 1.1);
  RecordProperty("share_of_bound", std::to_string(share / kRounds));
}

TEST(ArenaLayout, ChainNeedsTwoBuffers) {
  llvm::SmallVector<Lifetime> regions;
  for (int64_t i = 0; i < 20; ++i)
    regions.push_back(Lifetime::whole(1024, i, i + 1));
  EXPECT_EQ(layOutArena(regions), 2048);
}

TEST(ArenaLayout, ReusesMemoryOfPartsThatAreWrittenLater) {
  // The second half is written only after a region of the same size has ended.
  llvm::SmallVector<Lifetime> regions = {
      Lifetime{2048, 9, {{0, 1024, 1}, {1024, 2048, 5}}},
      Lifetime::whole(1024, 0, 4)};
  EXPECT_EQ(layOutArena(regions), 2048);
  EXPECT_EQ(regions[1].offset - regions[0].offset, 1024);
}

} // namespace
