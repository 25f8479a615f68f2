//===- accumulate_test.cpp - Micro-batches compared with one batch --------===//
//
// Four micro-batches of three samples must train like one batch of twelve, for
// every reduction of the loss and for ignored labels.
//
//===----------------------------------------------------------------------===//

#include "test/gradients/harness.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mpc::test {
namespace {

constexpr int kSamples = 12, kBatches = 4, kFeatures = 5, kUpdates = 3;

struct LossCase {
  const char *name;
  const char *nodes; ///< From `y` [N,4] and `labels` [N] to `loss`.
  const char *option = "";
  bool ignores = false;   ///< Some labels are -1, in the second batch all.
  const char *shape = ""; ///< Shape of the loss.
};

const LossCase kLosses[] = {
    {"mean", "loss = SoftmaxCrossEntropyLoss (y, labels)"},
    {"sum", "loss = SoftmaxCrossEntropyLoss <reduction = \"sum\"> (y, labels)"},
    {"none",
     "loss = SoftmaxCrossEntropyLoss <reduction = \"none\"> (y, labels)", "",
     false, "[K]"},
    {"meanIgnoring",
     "loss = SoftmaxCrossEntropyLoss <ignore_index = -1> (y, labels)", "",
     true},
    {"sumIgnoring",
     "loss = SoftmaxCrossEntropyLoss <reduction = \"sum\", ignore_index = -1> "
     "(y, labels)",
     "", true},
    // Class 3 has weight 0, and so does a batch that has only class 3.
    {"meanWeighted", "loss = SoftmaxCrossEntropyLoss (y, labels, weights)"},
    {"meanWeightedIgnoring",
     "loss = SoftmaxCrossEntropyLoss <ignore_index = -1> (y, labels, weights)",
     "", true},
    {"likelihood",
     "l = LogSoftmax <axis = 1> (y)\n"
     "loss = NegativeLogLikelihoodLoss <ignore_index = -1> (l, labels)",
     "", true},
    {"squares",
     "f = Cast <to = 1> (labels)\n a = Constant <value_ints = [1]> ()\n"
     "t = Unsqueeze (f, a)\n d = Sub (y, t)\n q = Mul (d, d)\n"
     "loss = ReduceMean <keepdims = 0> (q)",
     "output:loss"},
    {"sumOfSquares",
     "f = Cast <to = 1> (labels)\n a = Constant <value_ints = [1]> ()\n"
     "t = Unsqueeze (f, a)\n d = Sub (y, t)\n q = Mul (d, d)\n"
     "loss = ReduceSum <keepdims = 0> (q)",
     "output:loss"},
};

std::string numbers(int count, double scale) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += (i ? ", " : "") + std::to_string(scale * ((i * 37 % 23) - 11) / 11);
  return "{" + text + "}";
}

std::string modelOf(const LossCase &loss) {
  return "<ir_version: 9, opset_import: [\"\" : 20]>\n"
         "m (float[N, 5] x, int64[N] labels, float[5, 6] w = " +
         numbers(30, 0.5) + ", float[6, 4] v = " + numbers(24, 0.5) +
         ") => (float" + loss.shape +
         " loss)\n"
         "{\n weights = Constant <value = float[4] {0.5, 2.0, 1.25, 0.0}> ()\n"
         " h = MatMul (x, w)\n t0 = Tanh (h)\n y = MatMul (t0, v)\n" +
         loss.nodes + "\n}\n";
}

/// Samples of one update; independent of the batch size.
std::vector<Values> samplesOf(int update, bool ignores) {
  Random random(update + 1);
  Values x(kSamples * kFeatures), labels(kSamples);
  for (double &value : x)
    value = float(2 * random.next() - 1);
  for (int i = 0; i < kSamples; ++i) {
    labels[i] = std::floor(3 * random.next());
    if (i >= 6 && i < 9)
      labels[i] = 3; // The third micro-batch.
    if (ignores && ((i >= 3 && i < 6) || i == 1 || i == 10))
      labels[i] = -1;
  }
  return {x, labels};
}

struct Trained {
  Values weights, losses, norms;
};

class Accumulate : public testing::TestWithParam<LossCase> {
protected:
  Trained train(const std::string &precision, int batches, double clipNorm) {
    Folder folder;
    CompileOptions options;
    options.model = writeText(folder, "m.onnxtxt", modelOf(GetParam()));
    options.loss = GetParam().option;
    options.precision = precision;
    options.optimizer = "sgd";
    options.lr = 0.1;
    options.batches = {kSamples / batches};
    options.accumulate = batches;
    options.clipNorm = clipNorm;
    options.lossScaleInit = 1024; // No overflow, not even in sums.
    Trained trained;
    ProgramPtr program = compile(options, folder);
    if (!program)
      return trained;
    Session session(program);
    for (int update = 0; update < kUpdates; ++update) {
      std::vector<Values> samples = samplesOf(update, GetParam().ignores);
      for (int batch = 0; batch < batches; ++batch) {
        auto part = [&](const Values &values) {
          auto size = values.size() / batches;
          return Values(values.begin() + batch * size,
                        values.begin() + (batch + 1) * size);
        };
        mpc_step_info_t info =
            session.step({part(samples[0]), part(samples[1])});
        bool isLast = batch + 1 == batches;
        EXPECT_EQ(info.updated, isLast);
        if (!isLast) {
          EXPECT_EQ(info.update_loss, 0);
          continue;
        }
        trained.losses.push_back(info.update_loss);
        trained.norms.push_back(info.grad_norm);
      }
    }
    trained.weights = session.read("w");
    for (double value : session.read("v"))
      trained.weights.push_back(value);
    return trained;
  }

  void compare(const std::string &precision, double clipNorm,
               double tolerance) {
    SCOPED_TRACE(precision);
    Trained whole = train(precision, 1, clipNorm);
    Trained parts = train(precision, kBatches, clipNorm);
    ASSERT_EQ(whole.losses.size(), size_t(kUpdates));
    double weights = scaledError(parts.weights, whole.weights);
    double losses = scaledError(parts.losses, whole.losses);
    double norms = scaledError(parts.norms, whole.norms);
    EXPECT_LE(weights, tolerance);
    EXPECT_LE(losses, tolerance);
    EXPECT_LE(norms, tolerance);
    std::printf("%-24s %s weights %.1e loss %.1e norm %.1e\n", GetParam().name,
                precision.c_str(), weights, losses, norms);
  }
};

// Sums of twelve terms in another order, over three updates.
TEST_P(Accumulate, TrainsAsOneBatch) { compare("fp32", 0, 1e-6); }
TEST_P(Accumulate, ClipsAsOneBatch) { compare("fp32", 0.1, 1e-6); }

// Gradients of logits are rounded at other magnitudes, by 2^-9 and 2^-11.
TEST_P(Accumulate, TrainsAsOneBatchIn16Bit) {
  compare("bf16", 0, 4e-3);
  compare("fp16", 0.1, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Losses, Accumulate, testing::ValuesIn(kLosses),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

// As with one batch, weights do not change if no label counts: there is no
// loss.
TEST(AccumulateNothing, LeavesTheWeights) {
  Folder folder;
  CompileOptions options;
  options.model = writeText(folder, "m.onnxtxt", modelOf(kLosses[3]));
  options.precision = "fp32";
  options.optimizer = "sgd";
  options.batches = {2};
  options.accumulate = 2;
  ProgramPtr program = compile(options, folder);
  ASSERT_TRUE(program);
  Session session(program);
  Values before = session.read("w");
  session.step({Values(10, 0.5), {-1, -1}});
  Session::Outcome outcome = session.tryStep({Values(10, 0.5), {-1, -1}});
  EXPECT_EQ(outcome.code, MPC_NUMERIC);
  EXPECT_TRUE(std::isnan(outcome.info.update_loss));
  EXPECT_EQ(session.read("w"), before);
  // The next update is not affected.
  session.step({Values(10, 0.5), {1, -1}});
  EXPECT_TRUE(
      std::isfinite(session.step({Values(10, 0.5), {0, 2}}).update_loss));
}

} // namespace
} // namespace mpc::test
