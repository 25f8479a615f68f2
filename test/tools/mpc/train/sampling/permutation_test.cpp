// Random orders: permutations of all samples, as good as independent ones.

#include "tools/mpc/training/sampling/Permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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

//===----------------------------------------------------------------------===//
// Without memory
//===----------------------------------------------------------------------===//

std::vector<uint64_t> listOf(const ComputedPermutation &order, uint64_t count) {
  std::vector<uint64_t> list;
  for (uint64_t i = 0; i < count; ++i)
    list.push_back(order[i]);
  return list;
}

TEST(ComputedPermutation, ContainsEverythingOnce) {
  for (uint64_t count = 1; count <= 2000; ++count) {
    std::vector<uint64_t> order =
        listOf(ComputedPermutation(count, 1, count), count);
    std::sort(order.begin(), order.end());
    for (uint64_t i = 0; i < count; ++i)
      ASSERT_EQ(order[i], i) << "of " << count;
  }
}

TEST(ComputedPermutation, HasNoElementTwiceAmongMany) {
  constexpr uint64_t size = 100000;
  for (uint64_t count :
       {uint64_t(1000000000), (uint64_t(1) << 32) + 1, uint64_t(1) << 62}) {
    const ComputedPermutation order(count, 3, 4);
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < size; ++i) {
      // The first positions, and others from all over the range.
      const uint64_t at = i % 2 ? i / 2 : count - 1 - i * (count / size / 2);
      ASSERT_LT(order[at], count);
      seen.insert(order[at]);
    }
    EXPECT_EQ(seen.size(), size) << count;
  }
}

TEST(ComputedPermutation, DependsOnSeedAndEpochAlone) {
  auto order = [](uint64_t seed, uint64_t epoch) {
    return listOf(ComputedPermutation(100, seed, epoch), 100);
  };
  EXPECT_EQ(order(7, 3), order(7, 3));
  EXPECT_NE(order(7, 3), order(8, 3));
  EXPECT_NE(order(7, 3), order(7, 4));
  EXPECT_NE(order(7, 3), order(7 + (uint64_t(1) << 32), 3));
}

// Training from checkpoints must continue in the same order.
TEST(ComputedPermutation, NeverChanges) {
  EXPECT_EQ(listOf(ComputedPermutation(8, 0, 0), 8),
            (std::vector<uint64_t>{5, 7, 6, 2, 4, 3, 1, 0}));
}

/// The statistic of Pearson's chi-squared test that all counts are equally
/// likely, minus its mean and divided by its standard deviation.
double deviationOf(const std::vector<uint64_t> &counts) {
  double total = 0, statistic = 0;
  for (uint64_t count : counts)
    total += count;
  const double expected = total / counts.size();
  for (uint64_t count : counts)
    statistic += (count - expected) * (count - expected) / expected;
  const double freedom = counts.size() - 1;
  return (statistic - freedom) / std::sqrt(2 * freedom);
}

// Each sample is at each position equally often, and each sample follows each
// other equally often. Six deviations do not occur by chance; few orders, as a
// network with too few rounds has, give many more.
TEST(ComputedPermutation, IsUniform) {
  for (uint64_t count : {2u, 3u, 4u, 5u, 6u, 7u, 16u, 17u, 50u}) {
    std::vector<uint64_t> places(count * count), pairs(count * count);
    const uint64_t epochs = 400 * count;
    for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
      const ComputedPermutation order(count, 11, epoch);
      for (uint64_t i = 0; i < count; ++i) {
        ++places[i * count + order[i]];
        if (i > 0)
          ++pairs[order[i - 1] * count + order[i]];
      }
    }
    EXPECT_LT(deviationOf(places), 6) << count;
    std::vector<uint64_t> others;
    for (uint64_t i = 0; i < count * count; ++i) {
      if (i / count != i % count)
        others.push_back(pairs[i]);
    }
    EXPECT_LT(deviationOf(others), 6) << count;
  }
}

} // namespace
