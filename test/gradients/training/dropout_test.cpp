//===- dropout_test.cpp - Masks of dropout --------------------------------===//

#include "test/gradients/harness.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace mpc::test {
namespace {

struct Words {
  uint32_t first, second;
};

Words philox(uint32_t counter0, uint32_t counter1, uint32_t key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t product = uint64_t(counter0) * 0xD256D193;
    counter0 = uint32_t(product >> 32) ^ key ^ counter1;
    counter1 = uint32_t(product);
    key += 0x9E3779B9;
  }
  return {counter0, counter1};
}

/// One step of SplitMix64.
uint64_t mix(uint64_t word) {
  word += 0x9E3779B97F4A7C15;
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
  return word ^ (word >> 31);
}

uint32_t dropoutKey(uint64_t seed, uint64_t index) {
  return mix(seed ^ mix(index)) >> 32;
}

// The known answers of Random123.
TEST(Dropout, ReferenceIsPhilox) {
  Words zeros = philox(0, 0, 0);
  EXPECT_EQ(zeros.first, 0xff1dae59u);
  EXPECT_EQ(zeros.second, 0x6cd10df2u);
  Words ones = philox(~0u, ~0u, ~0u);
  EXPECT_EQ(ones.first, 0x2c3f628bu);
  EXPECT_EQ(ones.second, 0xab4fd7adu);
}

// The first numbers of SplitMix64 from state 0.
TEST(Dropout, ReferenceIsSplitMix) {
  EXPECT_EQ(mix(0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(mix(0x9E3779B97F4A7C15), 0x6e789e6aa1b965f4u);
}

/// Runs one step on d = dropout(a) with loss sum(d * ones): the gradient is the
/// mask times its scale. With several ops, the loss is the sum over them.
struct MaskMaker {
  MaskMaker(const std::string &ratio, int64_t count, int numOps = 1)
      : count(count), numOps(numOps) {
    std::string zeros = "0.0";
    for (int64_t i = 1; i < count; ++i)
      zeros += ", 0.0";
    std::string n = std::to_string(count);
    std::string initializers, nodes, sum;
    for (int op = 0; op < numOps; ++op) {
      std::string k = std::to_string(op);
      initializers += ", float[" + n + "] a" + k + " = {" + zeros + "}";
      nodes += "d" + k + " = Dropout (a" + k + ", r)\n";
      std::string before = sum;
      sum = op == 0 ? "d0" : "s" + k;
      if (op > 0)
        nodes += sum + " = Add (" + before + ", d" + k + ")\n";
    }
    CompileOptions options;
    options.model =
        writeText(folder, "dropout.onnxtxt",
                  "<ir_version: 9, opset_import: [\"\" : 20]>\n"
                  "dropout (float[" +
                      n + "] p" + initializers + ", float r = {" + ratio +
                      "}) => (float loss)\n{\n" + nodes + "q = Mul (" + sum +
                      ", p)\n"
                      "loss = ReduceSum <keepdims = 0> (q)\n}\n");
    options.precision = "fp32";
    options.optimizer = "sgd";
    options.lr = 1;
    options.loss = "output:loss";
    program = compile(options, folder);
  }
  /// One mask for each op.
  std::vector<Values> makeAll(uint64_t seed, uint32_t step) {
    SessionOptions options;
    options.seed = seed;
    Session session(program, options);
    session.write("step_count", {double(step)});
    session.step({Values(count, 1.0)});
    std::vector<Values> masks;
    for (int op = 0; op < numOps; ++op) {
      masks.push_back(session.read("a" + std::to_string(op)));
      for (double &value : masks.back())
        value = -value;
    }
    return masks;
  }
  Values make(uint64_t seed, uint32_t step) { return makeAll(seed, step)[0]; }
  Folder folder;
  int64_t count;
  int numOps;
  ProgramPtr program;
};

/// Fails unless `found` of `n` events agrees with probability `p` up to five
/// standard deviations.
void expectFrequency(double found, int64_t n, double p) {
  EXPECT_NEAR(found / n, p, 5 * std::sqrt(p * (1 - p) / n));
}

double countBoth(const Values &a, const Values &b) {
  double both = 0;
  for (size_t i = 0; i < a.size(); ++i)
    both += a[i] == 0 && b[i] == 0;
  return both;
}

TEST(Dropout, TakesTheBitsOfPhilox) {
  MaskMaker maker("0.25", 1000, /*numOps=*/2);
  for (uint64_t seed : {uint64_t(0), uint64_t(7), ~uint64_t(0)})
    for (uint32_t step : {0u, 1u, ~0u})
      for (int op : {0, 1}) {
        Values mask = maker.makeAll(seed, step)[op];
        uint32_t key = dropoutKey(seed, op);
        for (uint32_t i = 0; i < mask.size(); ++i) {
          bool dropped = philox(i, step, key).first < 0x40000000u;
          ASSERT_EQ(mask[i], dropped ? 0.0 : double(float(1 / 0.75)))
              << "element " << i << ", op " << op << ", seed " << seed
              << ", step " << step;
        }
      }
}

// Brackets the first word of seed 0, 0x41d5d1cb, whose upper 24 bits are used.
TEST(Dropout, GivesTheKnownAnswer) {
  EXPECT_GT(MaskMaker("0.25716885924339294", 3).make(0, 0)[0], 0);
  EXPECT_EQ(MaskMaker("0.25716888904571533", 3).make(0, 0)[0], 0);
}

// n r of n elements are dropped, and masks of different steps, seeds and ops
// agree as often as independent ones. Seeds are adjacent, far apart, or equal
// in 32 bits: if the key were a sum, (0, op 1) would equal (1, op 0).
TEST(Dropout, StreamsAreIndependent) {
  const int64_t n = 20000;
  const double ratio = 0.25;
  MaskMaker maker("0.25", n, /*numOps=*/3);
  std::vector<std::pair<std::string, Values>> streams;
  for (uint64_t seed : {0ull, 1ull, 2ull, 1ull << 32, 0x9E3779B97F4A7C15ull})
    for (uint32_t step : {0u, 1u})
      for (Values &mask : maker.makeAll(seed, step))
        streams.push_back({"seed " + std::to_string(seed) + ", step " +
                               std::to_string(step) + ", stream " +
                               std::to_string(streams.size()),
                           std::move(mask)});
  for (size_t i = 0; i < streams.size(); ++i) {
    SCOPED_TRACE(streams[i].first);
    const Values &mask = streams[i].second;
    expectFrequency(double(std::count(mask.begin(), mask.end(), 0.0)), n,
                    ratio);
    for (size_t j = 0; j < i; ++j) {
      SCOPED_TRACE(streams[j].first);
      expectFrequency(countBoth(mask, streams[j].second), n, ratio * ratio);
    }
  }
}

} // namespace
} // namespace mpc::test
