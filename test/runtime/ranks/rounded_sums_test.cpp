// Gradients that travel in bf16, with threads as ranks.

#include "runtime/src/ranks/rounded_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "test/runtime/package.h"
#include "test/runtime/ranks/mailboxes.h"

namespace mpc::test {
namespace {

using runtime::Exchange;
using runtime::RoundedSums;

constexpr uint64_t kElements = 3000;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
// Half the distance of two numbers of bf16, relative to them.
constexpr double kHalfUlp = 1.0 / 256;

// The gradient number `i` of a rank in every update.
float gradient(uint32_t rank, uint64_t i) {
  return std::ldexp(1.0f + static_cast<float>(i % 89) / 1000,
                    static_cast<int>(i % 60) - 30) *
         (rank % 2 ? -0.37f : 1.0f);
}

double exact_sum(uint32_t size, uint64_t i) {
  double sum = 0;
  for (uint32_t rank = 0; rank < size; ++rank) sum += gradient(rank, i);
  return sum;
}

// The largest gradient of a rank, which limits what rounding loses.
double magnitude(uint64_t i) { return std::fabs(gradient(0, i)); }

// Two parts, in which the ranges of ranks are uneven, one of them empty.
std::vector<std::vector<uint64_t>> parts_for(uint32_t size) {
  std::vector<std::vector<uint64_t>> parts(2);
  for (uint64_t i = 0; i <= size; ++i) {
    parts[0].push_back(1000 + (i == 1 ? 0 : i * 2000 / size));
    parts[1].push_back(i * 1000 / size);
  }
  return parts;
}

std::vector<float> sum_once(RoundedSums& sums, const mpc_communicator_t& self,
                            bool gathers = true) {
  std::vector<float> data(kElements);
  for (uint64_t i = 0; i < kElements; ++i) data[i] = gradient(self.rank, i);
  for (const std::vector<uint64_t>& bounds : parts_for(self.size))
    EXPECT_OK(sums.sum(data.data(), bounds, gathers));
  return data;
}

std::unique_ptr<RoundedSums> make_sums(const mpc_communicator_t& self) {
  std::unique_ptr<RoundedSums> sums;
  EXPECT_OK(RoundedSums::create(self, kElements, kElements, &sums));
  return sums;
}

TEST(RoundedSums, AreTheSameOnAllRanks) {
  for (uint32_t size : {2, 3, 4}) {
    std::vector<std::vector<float>> found(size);
    on_ranks(size, [&](Exchange&, const mpc_communicator_t& self) {
      std::unique_ptr<RoundedSums> sums = make_sums(self);
      sum_once(*sums, self);
      found[self.rank] = sum_once(*sums, self);
    });
    for (uint32_t rank = 1; rank < size; ++rank)
      EXPECT_EQ(found[rank], found[0]) << size << " ranks";
    for (uint64_t i = 0; i < kElements; ++i) {
      uint32_t bits;
      std::memcpy(&bits, &found[0][i], sizeof(bits));
      ASSERT_EQ(bits & 0xffff, 0u) << "more than bf16 at " << i;
    }
  }
}

// The sum of many updates is as close to the exact one as that of one update:
// what an update loses, a later one has.
TEST(RoundedSums, LoseNothingForGood) {
  for (uint32_t size : {2, 3, 4})
    on_ranks(size, [&](Exchange&, const mpc_communicator_t& self) {
      std::unique_ptr<RoundedSums> sums = make_sums(self);
      std::vector<double> total(kElements);
      constexpr int kUpdates = 200;
      for (int update = 0; update < kUpdates; ++update) {
        const std::vector<float> data = sum_once(*sums, self);
        for (uint64_t i = 0; i < kElements; ++i) total[i] += data[i];
      }
      for (uint64_t i = 0; i < kElements; ++i)
        ASSERT_NEAR(total[i], kUpdates * exact_sum(size, i),
                    2 * kHalfUlp * size * magnitude(i))
            << i;
    });
}

TEST(RoundedSums, ForgetWhatTheyHaveLost) {
  on_ranks(2, [&](Exchange&, const mpc_communicator_t& self) {
    std::unique_ptr<RoundedSums> sums = make_sums(self);
    const std::vector<float> first = sum_once(*sums, self);
    EXPECT_NE(sum_once(*sums, self), first);
    sums->clear();
    EXPECT_EQ(sum_once(*sums, self), first);
  });
}

TEST(RoundedSums, KeepOtherRangesIfNotGathered) {
  on_ranks(3, [&](Exchange&, const mpc_communicator_t& self) {
    const std::vector<float> whole = sum_once(*make_sums(self), self);
    const std::vector<float> parts = sum_once(*make_sums(self), self, false);
    for (const std::vector<uint64_t>& bounds : parts_for(self.size))
      for (uint64_t i = bounds.front(); i < bounds.back(); ++i) {
        const bool is_own = i >= bounds[self.rank] && i < bounds[self.rank + 1];
        ASSERT_EQ(parts[i], is_own ? whole[i] : gradient(self.rank, i)) << i;
      }
  });
}

// All ranks must see what is not finite, in this update only.
TEST(RoundedSums, SpreadWhatIsNotFinite) {
  on_ranks(2, [&](Exchange&, const mpc_communicator_t& self) {
    std::unique_ptr<RoundedSums> sums = make_sums(self);
    std::vector<float> data(kElements, 1.0f);
    const std::vector<uint64_t> bounds = {0, 1500, kElements};
    if (self.rank == 1) {
      data[3] = kInfinity;
      data[2000] = -kInfinity;
      data[4] = std::nanf("");
      // A NaN whose payload is in the bits that bf16 drops.
      const uint32_t low = 0x7f800001;
      std::memcpy(&data[2001], &low, sizeof(low));
      // Rounds to infinity.
      data[5] = data[2002] = std::numeric_limits<float>::max();
    }
    EXPECT_OK(sums->sum(data.data(), bounds, true));
    EXPECT_EQ(data[3], kInfinity);
    EXPECT_EQ(data[2000], -kInfinity);
    EXPECT_TRUE(std::isnan(data[4]));
    EXPECT_TRUE(std::isnan(data[2001]));
    EXPECT_EQ(data[5], kInfinity);
    EXPECT_EQ(data[2002], kInfinity);
    EXPECT_EQ(data[6], 2.0f);
    data.assign(kElements, 1.0f);
    EXPECT_OK(sums->sum(data.data(), bounds, true));
    EXPECT_EQ(data, std::vector<float>(kElements, 2.0f));
  });
}

}  // namespace
}  // namespace mpc::test
