//===- reductions_test.cpp - Loss reductions compared with PyTorch --------===//
//
// Every reduction of cross entropy, with and without class weights and an
// ignored label: training minimizes the mean of the output as PyTorch computes
// it, in one batch or three, and evaluation agrees.
//
//===----------------------------------------------------------------------===//

#include "test/gradients/harness.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mpc::test {
namespace {

constexpr int kSamples = 12;

struct ReductionCase {
  const char *reduction;
  bool weighted, ignores;
  double loss;
  Values gradient; ///< Gradient of w, [2, 3].
};

// F.cross_entropy(x @ w, labels, [0.5, 1, 2] or None, ignore_index=1 or -100,
// reduction=...).mean(), in f64.
const std::vector<ReductionCase> kCases = {
    {"mean",
     false,
     false,
     1.1432363615848566,
     {-0.08674955956500903, 0.1294549490496585, -0.042705389484649484,
      -0.2011167439939057, -0.07407167136315597, 0.2751884153570616}},
    {"mean",
     false,
     true,
     1.169309290653997,
     {-0.02182744080072281, 0.03533095288671111, -0.013503512085988307,
      -0.444290939179399, 0.12053895539811596, 0.323751983781283}},
    {"mean",
     true,
     false,
     1.1287032795382064,
     {-0.06897197808299267, 0.12942127554254992, -0.06044929745955724,
      -0.10749237182792461, -0.14180563365865123, 0.24929800548657582}},
    {"mean",
     true,
     true,
     1.1424339161945478,
     {-0.0010541357379820022, 0.04704173295802808, -0.04598759722004606,
      -0.26175456001149305, -0.013855061677222856, 0.2756096216887159}},
    {"sum",
     false,
     false,
     13.71883633901828,
     {-1.0409947147801082, 1.5534593885959018, -0.5124646738157939,
      -2.413400927926869, -0.8888600563578718, 3.30226098428474}},
    {"sum",
     false,
     true,
     8.18516503457798,
     {-0.1527920856050597, 0.24731667020697792, -0.09452458460191807,
      -3.110036574255793, 0.8437726877868117, 2.2662638864689812}},
    {"sum",
     true,
     false,
     14.673142633996683,
     {-0.8966357150789047, 1.6824765820531489, -0.7858408669742443,
      -1.3974008337630202, -1.8434732375624663, 3.240874071325486}},
    {"sum",
     true,
     true,
     9.139471329556383,
     {-0.008433085903856018, 0.37633386366422467, -0.3679007777603685,
      -2.0940364800919444, -0.11084049341778285, 2.204876973509727}},
    {"none",
     false,
     false,
     1.1432363615848566,
     {-0.08674955956500903, 0.1294549490496585, -0.042705389484649484,
      -0.2011167439939057, -0.07407167136315597, 0.2751884153570616}},
    {"none",
     false,
     true,
     0.6820970862148316,
     {-0.012732673800421644, 0.020609722517248154, -0.007877048716826505,
      -0.25916971452131604, 0.07031439064890097, 0.1888553238724151}},
    {"none",
     true,
     false,
     1.2227618861663905,
     {-0.07471964292324207, 0.1402063818377624, -0.06548673891452035,
      -0.11645006948025163, -0.15362276979687217, 0.2700728392771239}},
    {"none",
     true,
     true,
     0.7616226107963652,
     {-0.0007027571586546667, 0.03136115530535205, -0.030658398146697362,
      -0.17450304000766204, -0.009236707784815237, 0.1837397477924773}},
};

const Values kInputs = {-0.31, -0.71, -0.73, -0.3, -0.25, -0.36, 0.94,  1.16,
                        0.09,  0.51,  0.6,   1.29, 1.75,  -0.41, -0.99, -0.3,
                        -1.93, -0.27, -0.14, 2.57, -0.52, 0.99,  0.29,  1.01};
const Values kLabels = {0, 1, 2, 1, 0, 0, 2, 2, 1, 0, 1, 1};
const Values kStart = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6};

std::string modelOf(const ReductionCase &loss) {
  return std::string("<ir_version: 9, opset_import: [\"\" : 20]>\n"
                     "m (float[N, 2] x, int64[N] labels, float[2, 3] w = {0.1, "
                     "0.2, 0.3, 0.4, 0.5, 0.6}) => (float") +
         (loss.reduction == std::string("none") ? "[K]" : "") +
         " loss)\n{\n weights = Constant <value = float[3] {0.5, 1.0, 2.0}> ()"
         "\n y = MatMul (x, w)\n loss = SoftmaxCrossEntropyLoss <reduction = "
         "\"" +
         loss.reduction + "\"" + (loss.ignores ? ", ignore_index = 1" : "") +
         "> (y, labels" + (loss.weighted ? ", weights" : "") + ")\n}\n";
}

/// The fraction of correct predictions, weighted by class, without ignored
/// labels.
double accuracy(const ReductionCase &loss) {
  double correct = 0, counted = 0;
  for (int i = 0; i < kSamples; ++i) {
    Values scores(3);
    for (int c = 0; c < 3; ++c)
      scores[c] =
          kInputs[2 * i] * kStart[c] + kInputs[2 * i + 1] * kStart[3 + c];
    int best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    int label = int(kLabels[i]);
    double counts = loss.weighted ? 0.5 * (1 << label) : 1;
    if (loss.ignores && label == 1)
      counts = 0;
    counted += counts;
    correct += best == label ? counts : 0;
  }
  return correct / counted;
}

class LossReductions : public testing::TestWithParam<ReductionCase> {
protected:
  ProgramPtr compileFor(int batches) {
    Folder folder;
    CompileOptions options;
    options.model = writeText(folder, "m.onnxtxt", modelOf(GetParam()));
    options.loss = "output:loss";
    options.precision = "fp64";
    options.optimizer = "sgd";
    options.lr = 1;
    options.weightDecay = 0;
    options.batches = {kSamples / batches};
    options.accumulate = batches;
    return compile(options, folder);
  }

  static Values part(const Values &values, int batch, int batches) {
    size_t size = values.size() / batches;
    return {values.begin() + batch * size, values.begin() + (batch + 1) * size};
  }

  void compare(int batches) {
    ProgramPtr program = compileFor(batches);
    ASSERT_TRUE(program);
    Session session(program);
    session.write("w", kStart);
    mpc_step_info_t info = {};
    for (int i = 0; i < batches; ++i)
      info =
          session.step({part(kInputs, i, batches), part(kLabels, i, batches)});
    const ReductionCase &expected = GetParam();
    // The class weights of the model and the reported loss are f32.
    EXPECT_NEAR(info.update_loss, expected.loss, 1e-6 * expected.loss);
    Values gradient = session.read("w");
    for (size_t i = 0; i < gradient.size(); ++i)
      gradient[i] = kStart[i] - gradient[i];
    EXPECT_LE(scaledError(gradient, expected.gradient), 1e-9);
  }
};

TEST_P(LossReductions, TrainAsInPyTorch) { compare(1); }
TEST_P(LossReductions, TrainAsInPyTorchInThreeBatches) { compare(3); }

// Ignored labels do not count for the accuracy. The loss of all samples is the
// sum of their losses divided by the sum of their weights; reduction "sum" does
// not divide.
TEST_P(LossReductions, EvaluateAsInPyTorch) {
  for (int batches : {1, 3}) {
    ProgramPtr program = compileFor(batches);
    ASSERT_TRUE(program);
    Session session(program);
    session.write("w", kStart);
    double losses = 0, weights = 0, correct = 0, counted = 0;
    for (int i = 0; i < batches; ++i) {
      auto outputs = session.run(
          "evaluate", {part(kInputs, i, batches), part(kLabels, i, batches)});
      for (double value : outputs["sample_loss"])
        losses += value;
      for (double value : outputs["sample_weight"])
        weights += value;
      for (double value : outputs["sample_correct"])
        correct += value;
      bool isApart = outputs.count("sample_counted") > 0;
      for (double value : outputs[isApart ? "sample_counted" : "sample_weight"])
        counted += value;
    }
    EXPECT_NEAR(correct / counted, accuracy(GetParam()), 1e-6);
    bool isSum = GetParam().reduction == std::string("sum");
    EXPECT_NEAR(isSum ? losses : losses / weights, GetParam().loss,
                1e-6 * GetParam().loss);
  }
}

INSTANTIATE_TEST_SUITE_P(All, LossReductions, testing::ValuesIn(kCases),
                         [](const auto &info) {
                           return std::string(info.param.reduction) +
                                  (info.param.weighted ? "Weighted" : "") +
                                  (info.param.ignores ? "Ignoring" : "");
                         });

// A program rejects labels for which the loss has no class.
TEST_P(LossReductions, RefuseLabelsOutOfRange) {
  ProgramPtr program = compileFor(1);
  ASSERT_TRUE(program);
  Session session(program);
  for (double label : {3.0, 7.0, -1.0, -100.0}) {
    Values labels = kLabels;
    labels[5] = label;
    Session::Outcome outcome = session.tryStep({kInputs, labels});
    EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
    EXPECT_NE(outcome.message.find("'labels'"), std::string::npos)
        << outcome.message;
    EXPECT_NE(outcome.message.find("at position 5 lies outside [0, 3)"),
              std::string::npos)
        << outcome.message;
  }
}

} // namespace
} // namespace mpc::test
