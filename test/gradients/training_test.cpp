//===- training_test.cpp - Updates, masks, repeatability ------------------===//

#include "test/gradients/harness.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <tuple>

namespace mpc::test {
namespace {

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

CompileOptions optimizerOptions(const nlohmann::json &options) {
  CompileOptions result;
  result.loss = "mse";
  result.optimizer = options["optimizer"];
  result.lr = options["lr"];
  result.weightDecay = options.value("weightDecay", -1.0);
  result.beta1 = options.value("beta1", result.beta1);
  result.beta2 = options.value("beta2", result.beta2);
  result.epsilon = options.value("epsilon", result.epsilon);
  result.momentum = options.value("momentum", result.momentum);
  result.nesterov = options.value("nesterov", false);
  result.clipNorm = options["clipNorm"];
  result.accumulate = options["accumulate"];
  return result;
}

/// Five updates in f64 and in f32; PyTorch's were made in f64.
void followGolden(const nlohmann::json &golden, const char *precision,
                  double tolerance) {
  SCOPED_TRACE(golden["name"].get<std::string>() + " " + precision);
  Folder folder;
  CompileOptions options = optimizerOptions(golden["options"]);
  options.model = writeText(folder, "linear.onnxtxt", kLinear);
  options.precision = precision;
  ProgramPtr program = compile(options, folder);
  ASSERT_TRUE(program);
  Session session(program);
  session.write("w", golden["start"]["w"].get<Values>());
  session.write("b", golden["start"]["b"].get<Values>());
  size_t number = 0;
  for (const nlohmann::json &batch : golden["batches"]) {
    mpc_step_info_t info =
        session.step({batch["x"].get<Values>(), batch["t"].get<Values>()});
    EXPECT_NEAR(info.loss, golden["loss"][number].get<double>(), 1e-5);
    ++number;
    EXPECT_EQ(info.updated, number % options.accumulate == 0);
    if (!info.updated)
      continue;
    size_t update = number / options.accumulate - 1;
    EXPECT_NEAR(info.grad_norm, golden["grad_norm"][update].get<double>(),
                1e-5);
  }
  double worst = 0;
  for (const char *name : {"w", "b"})
    worst = std::max(worst, scaledError(session.read(name),
                                        golden["end"][name].get<Values>()));
  EXPECT_LE(worst, tolerance);
  std::printf("%-32s %s %.1e\n", golden["name"].get<std::string>().c_str(),
              precision, worst);
}

TEST(Optimizers, DoWhatPyTorchDoes) {
  nlohmann::json goldens = nlohmann::json::parse(
      std::ifstream(MPC_GOLDENS "/digits/optimizers.json"));
  ASSERT_EQ(goldens.size(), 32u);
  for (const nlohmann::json &golden : goldens) {
    followGolden(golden, "fp64", 1e-12);
    followGolden(golden, "fp32", 2e-6);
  }
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

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

/// One step on d = dropout(a) with loss sum(d * ones): the gradient is the
/// mask times its scale. With more ops, the loss is the sum over them.
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

/// Fails unless `found` of `n` events is what probability `p` gives, up to five
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

// The first word of seed 0, 0x41d5d1cb, seen from both sides: 24 bits of it.
TEST(Dropout, GivesTheKnownAnswer) {
  EXPECT_GT(MaskMaker("0.25716885924339294", 3).make(0, 0)[0], 0);
  EXPECT_EQ(MaskMaker("0.25716888904571533", 3).make(0, 0)[0], 0);
}

// Of n elements n r are dropped, and masks of different steps, seeds and ops
// agree as often as independent ones do. Seeds next to each other, far apart,
// and equal in 32 bits: with a sum as key (0, op 1) would be (1, op 0).
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

//===----------------------------------------------------------------------===//
// Repeatability
//===----------------------------------------------------------------------===//

/// One of the digits models, and images that never change.
struct Digits {
  Digits(const std::string &name, const std::string &precision) {
    CompileOptions options;
    options.model = MPC_DIGITS "/" + name + ".onnx";
    options.precision = precision;
    options.batch = 64;
    program = compile(options, folder);
  }
  std::vector<Values> batch(int number) const {
    Random random(number);
    Values images(64 * 64), labels(64);
    for (double &value : images)
      value = float(random.next());
    for (double &value : labels)
      value = std::floor(10 * random.next());
    return {images, labels};
  }
  void train(Session &session, int first, int last) const {
    for (int i = first; i < last; ++i)
      session.step(batch(i));
  }
  std::map<std::string, std::string> trained(uint32_t threads,
                                             bool deterministic) const {
    SessionOptions options;
    options.threads = threads;
    options.deterministic = deterministic;
    Session session(program, options);
    train(session, 0, 60);
    return session.snapshot();
  }
  Folder folder;
  ProgramPtr program;
};

class Repeat
    : public testing::TestWithParam<std::tuple<const char *, const char *>> {
protected:
  Repeat() : digits(std::get<0>(GetParam()), std::get<1>(GetParam())) {}
  Digits digits;
};

TEST_P(Repeat, SixtyStepsTwiceAreTheSameBits) {
  ASSERT_TRUE(digits.program);
  EXPECT_EQ(digits.trained(2, false), digits.trained(2, false));
}

TEST_P(Repeat, ThreadsDoNotMatterWhenDeterministic) {
  ASSERT_TRUE(digits.program);
  EXPECT_EQ(digits.trained(1, true), digits.trained(2, true));
}

TEST_P(Repeat, ResumesBitByBit) {
  ASSERT_TRUE(digits.program);
  SessionOptions options;
  options.seed = 5;
  Session whole(digits.program, options);
  digits.train(whole, 0, 7);
  std::string path = digits.folder.path("step-7");
  ASSERT_TRUE(isOk(mpc_session_save_checkpoint(whole.handle(), path.c_str())));
  digits.train(whole, 7, 12);
  Session resumed(digits.program);
  ASSERT_TRUE(
      isOk(mpc_session_load_checkpoint(resumed.handle(), path.c_str())));
  digits.train(resumed, 7, 12);
  EXPECT_EQ(resumed.snapshot(), whole.snapshot());
}

INSTANTIATE_TEST_SUITE_P(Digits, Repeat,
                         testing::Combine(testing::Values("mlp", "cnn"),
                                          testing::Values("fp32", "bf16",
                                                          "fp16")),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param)) + "_" +
                                  std::get<1>(info.param);
                         });

/// The scaler in plain lines, with the settings of every compiled program.
struct Scaler {
  float scale;
  int32_t streak;
  void advance(bool finite) {
    streak = finite ? streak + 1 : 0;
    if (!finite)
      scale = std::max(scale / 2, 1.0f);
    if (streak == 2000) {
      scale = std::min(scale * 2, 0x1p24f);
      streak = 0;
    }
  }
};

// The compiled step through every pattern of overflows of length 16, which are
// the windows of a sequence with that period. Now and then it is put close to
// growing, at the ends of the range and inside.
TEST(LossScale, FollowsEveryPatternOfOverflows) {
  Folder folder;
  CompileOptions options;
  options.model = writeText(folder, "linear.onnxtxt", kLinear);
  options.loss = "mse";
  options.precision = "fp16";
  ProgramPtr program = compile(options, folder);
  ASSERT_TRUE(program);
  Session session(program);
  session.write("w", Values(6, 0x1p-6));
  // Gradients of 2^-16 stay finite under a scale of 2^24.
  const std::vector<Values> small = {Values(12, 0x1p-10), Values(8, 0.0)};
  // One of 1e6 / 4 exceeds f16 by itself; the loss of 1e12 is finite.
  const std::vector<Values> huge = {Values(12, 0x1p-10), Values(8, 1e6)};
  const Scaler starts[] = {{1, 1999},       {65536, 1990}, {0x1p24f, 1998},
                           {0x1p23f, 1995}, {2, 0},        {3.5f, 1997},
                           {0x1p24f, 0},    {65536, 1999}};

  Scaler expected = {65536, 0};
  std::string weights = session.snapshot()["w"];
  int64_t updates = 0;
  uint32_t shifter = 1; // x^16 + x^14 + x^13 + x^11 + 1: all patterns but 0.
  const int period = (1 << 16) - 1;
  for (int i = 0; i < period + 16 + 17; ++i) {
    if (i % 11 == 5) {
      expected = starts[i / 11 % std::size(starts)];
      session.write("loss_scale", {expected.scale});
      session.write("loss_scale_streak", {double(expected.streak)});
    }
    // The pattern that is missing, 16 overflows, stands at the end.
    bool finite = i < period + 16 ? shifter & 1 : false;
    uint32_t bit = shifter ^ shifter >> 2 ^ shifter >> 3 ^ shifter >> 5;
    shifter = shifter >> 1 | (bit & 1) << 15;
    ASSERT_EQ(shifter == 1, (i + 1) % period == 0) << "step " << i;
    mpc_step_info_t info = session.step(finite ? small : huge);
    ASSERT_EQ(info.skipped, !finite) << "step " << i;
    ASSERT_EQ(info.loss_scale, expected.scale) << "step " << i;
    expected.advance(finite);
    updates += finite;
    ASSERT_EQ(session.read("loss_scale")[0], expected.scale) << "step " << i;
    ASSERT_EQ(session.read("loss_scale_streak")[0], expected.streak)
        << "step " << i;
    ASSERT_EQ(session.read("step_count")[0], double(updates)) << "step " << i;
    if (i % 64 == 0) {
      std::string now = session.snapshot()["w"];
      ASSERT_TRUE(finite || now == weights) << "step " << i;
    }
    if (i % 64 == 63)
      weights = session.snapshot()["w"];
  }
}

class Overflow : public testing::TestWithParam<const char *> {};

TEST_P(Overflow, HalvesTheScaleAndChangesNothingElse) {
  Digits digits(GetParam(), "fp16");
  ASSERT_TRUE(digits.program);
  Session session(digits.program);
  digits.train(session, 0, 3);
  const double huge = 0x1p40;
  session.write("loss_scale", {huge});
  auto before = session.snapshot();
  mpc_step_info_t info = session.step(digits.batch(3));
  EXPECT_EQ(info.skipped, 1);
  EXPECT_EQ(info.updated, 0);
  EXPECT_EQ(info.step, 3u);
  EXPECT_TRUE(std::isfinite(info.loss));
  EXPECT_EQ(session.read("loss_scale")[0], huge / 2);
  EXPECT_EQ(session.read("loss_scale_streak")[0], 0);
  auto after = session.snapshot();
  for (const auto &[name, bits] : before) {
    bool isScale = name.rfind("loss_scale", 0) == 0;
    EXPECT_TRUE(isScale || bits == after[name]) << name;
  }
  int skips = 0;
  while (session.step(digits.batch(4)).skipped && skips < 60)
    ++skips;
  EXPECT_LT(skips, 40);
  EXPECT_EQ(session.read("step_count")[0], 4);
}

INSTANTIATE_TEST_SUITE_P(Digits, Overflow, testing::Values("mlp", "cnn"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

} // namespace
} // namespace mpc::test
