// Balanced sampling: each class equally often, whatever its size.

#include "test/tools/mpc/train/data/arrays.h"
#include "tools/mpc/training/Sampler.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

using namespace mpc;
using namespace mpc::tool;
using namespace mpc::test;

namespace {

/// 100 samples: 3, 27 and 70 of three classes.
ClassMembers threeClasses() {
  ClassMembers classes(3);
  for (uint64_t i = 0; i < 100; ++i)
    classes[i < 3 ? 0 : i < 30 ? 1 : 2].push_back(i);
  return classes;
}

Sampler makeBalanced(uint64_t batch, uint64_t seed) {
  return Sampler(std::make_unique<BalancedOrder>(100, threeClasses()), batch,
                 seed);
}

TEST(BalancedOrder, TakesEachClassEquallyOften) {
  Sampler sampler = makeBalanced(10, 1);
  std::map<uint64_t, int> before;
  for (int epoch = 0; epoch < 4; ++epoch) {
    int counts[3] = {};
    std::map<uint64_t, int> times;
    std::set<std::pair<uint64_t, uint64_t>> passes;
    for (int batch = 0; batch < 10; ++batch) {
      const SampleBatch found = sampler.next();
      for (size_t i = 0; i < found.samples.size(); ++i) {
        const uint64_t sample = found.samples[i];
        ++counts[sample < 3 ? 0 : sample < 30 ? 1 : 2];
        ++times[sample];
        // No sample is augmented twice in the same way.
        EXPECT_TRUE(passes.insert({sample, found.passes[i]}).second);
      }
    }
    EXPECT_EQ(counts[0], 34);
    EXPECT_EQ(counts[1], 33);
    EXPECT_EQ(counts[2], 33);
    // The samples of a class take turns, which may begin and end anywhere.
    for (uint64_t sample = 0; sample < 100; ++sample)
      EXPECT_NEAR(times[sample],
                  sample < 3    ? 34 / 3.0
                  : sample < 30 ? 33 / 27.0
                                : 33 / 70.0,
                  2);
    EXPECT_NE(times, before);
    before = times;
  }
}

// 70 samples are taken 33 an epoch: three epochs take all of them.
TEST(BalancedOrder, TakesAllSamplesOfALargeClassInTurn) {
  Sampler sampler = makeBalanced(10, 2);
  std::set<uint64_t> seen;
  for (int batch = 0; batch < 30; ++batch)
    for (uint64_t sample : sampler.next().samples)
      seen.insert(sample);
  EXPECT_EQ(seen.size(), 100u);
}

TEST(BalancedOrder, ResumesFromAnyPosition) {
  Sampler sampler = makeBalanced(7, 42);
  for (int i = 0; i < 40; ++i) {
    Sampler resumed = makeBalanced(7, 0);
    resumed.reseed(42);
    resumed.seek(sampler.position());
    ASSERT_EQ(resumed.next(), sampler.next());
  }
  EXPECT_NE(makeBalanced(7, 1).next(), makeBalanced(7, 2).next());
}

TEST(BalancedOrder, KnowsTheClassesOfThePartThatIsTrainedOn) {
  Binding labels = kLabels;
  labels.range = Binding::Range{0, 2, -100};
  std::vector<std::string> notes;
  Dataset data(
      "d.npz",
      {makeArray<float>("pairs", "float32", {6, 2}, std::vector<float>(12)),
       makeArray<int64_t>("labels", "int64", {6}, {1, 0, -100, 1, 1, 0})},
      {kPairs, labels}, notes);
  EXPECT_EQ(data.membersOfClasses(), (std::map<int64_t, std::vector<uint64_t>>{
                                         {0, {1, 5}}, {1, {0, 3, 4}}}));
  const std::vector<int64_t> all = {1, 0, -100, 1, 1, 0};
  std::unique_ptr<Dataset> rest = data.holdOut(0.34, {kPairs, labels});
  uint64_t count = 0;
  for (const auto &[number, members] : data.membersOfClasses())
    for (uint64_t index : members) {
      ++count;
      EXPECT_EQ(valuesOf<int64_t>(data.gather({index})[1])[0], number);
    }
  for (uint64_t index = 0; index < data.numSamples(); ++index)
    count += valuesOf<int64_t>(data.gather({index})[1])[0] == -100;
  EXPECT_EQ(count, 4u);
}

} // namespace
