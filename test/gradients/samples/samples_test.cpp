//===- samples_test.cpp - Samples of ops against differences --------------===//
//
// MPC_GRADIENT_SAMPLES is the number of samples of each op. By default there
// are two: the tenth and the twentieth.
//
//===----------------------------------------------------------------------===//

#include "test/gradients/differences.h"
#include "test/gradients/samples/samples.h"

#include "compiler/Import/Graph/OpTable.h"

#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <set>
#include <sstream>

namespace mpc::test {

/// With this many samples, every op takes all values of its attributes.
constexpr int kEnough = 20;

/// The numbers of the samples to test.
static std::vector<int> sampleNumbers() {
  const char *given = std::getenv("MPC_GRADIENT_SAMPLES");
  int count = given ? std::max(std::atoi(given), 1) : 2;
  std::vector<int> numbers;
  for (int i = 0; i < count; ++i)
    numbers.push_back(count < kEnough ? (i + 1) * kEnough / count - 1 : i);
  return numbers;
}

static std::set<std::string> wordsOf(const std::string &text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

class SampleTest : public testing::TestWithParam<size_t> {
protected:
  /// Compares one sample; removes from `untouched` the parameters that affect
  /// it.
  double compare(const Sample &sample, std::set<std::string> &untouched);

  int flat = 0; ///< Samples whose loss depends on no parameter.
};

// A single sample need not depend on every parameter.
double SampleTest::compare(const Sample &sample,
                           std::set<std::string> &untouched) {
  Model model = sample.model();
  SCOPED_TRACE(sample.name + ", parameters " + sample.parameters + ", seed " +
               std::to_string(sample.seed) + "\n" + textOf(model));
  Differences found = takeDifferences(model);
  EXPECT_FALSE(found.gradients.empty());
  EXPECT_TRUE(std::isfinite(found.loss));
  double worst = 0, least = found.least();
  bool isFlat = true;
  for (const auto &[name, expected] : found.expected) {
    double scale = std::max(largest(expected), least);
    Values difference = found.gradients[name];
    for (size_t i = 0; i < difference.size(); ++i)
      difference[i] -= expected[i];
    double error = largest(difference) / scale;
    EXPECT_LE(error, 1e-6) << "of " << name;
    worst = std::max(worst, error);
    if (largest(expected) < least)
      continue;
    isFlat = false;
    untouched.erase(name);
  }
  flat += isFlat;
  return worst;
}

TEST_P(SampleTest, HasGradientsOfFiniteDifferences) {
  const SampledOp &op = sampledOps()[GetParam()];
  std::set<std::string> untouched = wordsOf(op.inputs);
  std::vector<int> numbers = sampleNumbers();
  double worst = 0;
  for (int number : numbers)
    worst = std::max(worst, compare(op.sample(number), untouched));
  if (int(numbers.size()) >= kEnough) {
    for (const std::string &input : untouched)
      ADD_FAILURE() << "no sample depends on " << input;
    EXPECT_LE(3 * flat, 2 * int(numbers.size())) << "of the samples are flat";
  }
  RecordProperty("error", std::to_string(worst));
  std::printf("%-28s %3d samples, %2d flat, error %.1e\n", op.op.c_str(),
              int(numbers.size()), flat, worst);
}

INSTANTIATE_TEST_SUITE_P(Ops, SampleTest,
                         testing::Range<size_t>(0, sampledOps().size()),
                         [](const testing::TestParamInfo<size_t> &info) {
                           return sampledOps()[info.param].op;
                         });

// Every op must have samples or no gradient. The ops of ONNX Runtime become ops
// that are sampled under another name; test/onnx/microsoft_ops.py tests them.
TEST(Samples, AreOfAllOps) {
  std::set<std::string> imported;
  forEachOp([&](llvm::StringRef, const OpRow &row) {
    if (!llvm::StringRef(row.op).starts_with("com.microsoft."))
      imported.insert(row.op.str());
  });
  EXPECT_GT(imported.size(), 100u);
  std::set<std::string> known;
  for (const SampledOp &op : sampledOps())
    EXPECT_TRUE(known.insert(op.op).second) << op.op << " is there twice";
  for (const UnsampledOp &op : unsampledOps())
    EXPECT_TRUE(known.insert(op.op).second) << op.op << " is there twice";
  for (const std::string &op : imported)
    EXPECT_TRUE(known.count(op)) << op << " has no samples";
  for (const std::string &op : known)
    EXPECT_TRUE(imported.count(op)) << op << " is not imported";
}

// Samples are reproducible, so that failures can be investigated.
TEST(Samples, AreTheSameAgain) {
  for (const SampledOp &op : sampledOps())
    EXPECT_EQ(textOf(op.sample(3).model()), textOf(op.sample(3).model()));
}

} // namespace mpc::test
