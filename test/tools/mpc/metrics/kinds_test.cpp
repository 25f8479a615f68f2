// Metrics of rows: ties, classes that do not occur, and large offsets.

#include "tools/mpc/metrics/Registry.h"
#include "tools/mpc/metrics/kinds/CompensatedSum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace mpc::tool;

namespace {

using Rows = std::vector<std::vector<double>>;

std::unique_ptr<Metric> make(const std::string &name, Task task,
                             uint64_t columns, Scores scores = Scores::Logits) {
  NamedMetric found = findMetric(name);
  EXPECT_TRUE(found.row) << name;
  return found.row->make({task, columns, scores, found.number});
}

/// The metric of columns and their targets.
MetricValue ofColumns(const std::string &name, Task task, const Rows &values,
                      const Rows &targets) {
  auto metric = make(name, task, values.empty() ? 1 : values[0].size());
  for (size_t i = 0; i < values.size(); ++i)
    metric->add({values[i].data(), targets[i].data()});
  return metric->value();
}

MetricValue ofClasses(const std::string &name, const Rows &scores,
                      const std::vector<uint64_t> &labels,
                      Scores kind = Scores::Logits) {
  auto metric = make(name, Task::Classes, scores[0].size(), kind);
  for (size_t i = 0; i < scores.size(); ++i) {
    auto best = std::max_element(scores[i].begin(), scores[i].end());
    metric->add({scores[i].data(), nullptr, labels[i],
                 uint64_t(best - scores[i].begin())});
  }
  return metric->value();
}

TEST(Metrics, TiesOfScoresCountHalfInTheAuc) {
  // roc_auc_score([0, 1, 1, 0, 1], [1, 1, 2, 1, 0]) and
  // average_precision_score.
  Rows scores = {{1}, {1}, {2}, {1}, {0}}, labels = {{0}, {1}, {1}, {0}, {1}};
  EXPECT_DOUBLE_EQ(ofColumns("auc", Task::Binary, scores, labels).value, 0.5);
  EXPECT_DOUBLE_EQ(
      ofColumns("average-precision", Task::Binary, scores, labels).value,
      (1.0 + 0.5 + 0.6) / 3);
  Rows equal = {{3}, {3}, {3}, {3}, {3}};
  EXPECT_DOUBLE_EQ(ofColumns("auc", Task::Binary, equal, labels).value, 0.5);
}

TEST(Metrics, TheAucNeedsBothClasses) {
  EXPECT_EQ(ofColumns("auc", Task::Binary, {{1}, {2}}, {{0}, {0}}).undefined,
            "no label is positive");
  EXPECT_EQ(ofColumns("auc", Task::Binary, {{1}, {2}}, {{1}, {1}}).undefined,
            "every label is positive");
  EXPECT_EQ(ofColumns("auc", Task::Binary, {{1, 0}, {2, 0}}, {{0, 1}, {1, 1}})
                .undefined,
            "column 1: every label is positive");
  EXPECT_EQ(ofClasses("auc", {{1, 0, 0}, {0, 1, 0}}, {0, 1}).undefined,
            "class 2: no label is positive");
  EXPECT_EQ(ofColumns("average-precision", Task::Binary, {{1}, {2}}, {{0}, {0}})
                .value,
            0);
}

TEST(Metrics, NoRowsHaveNoValue) {
  for (const char *name : {"accuracy", "f1", "auc", "mcc", "average-precision"})
    EXPECT_EQ(ofColumns(name, Task::Binary, {}, {}).undefined,
              "no label counts");
  EXPECT_EQ(make("top5", Task::Classes, 9)->value().undefined,
            "no label counts");
  EXPECT_EQ(make("perplexity", Task::Classes, 9)->value().undefined,
            "no label counts");
  EXPECT_EQ(ofColumns("mae", Task::Numbers, {}, {}).undefined,
            "fewer than 1 sample");
  EXPECT_EQ(ofColumns("r2", Task::Numbers, {{1}}, {{1}}).undefined,
            "fewer than 2 samples");
}

TEST(Metrics, ClassesThatDoNotOccurDoNotCount) {
  // Class 2 is neither predicted nor a label; f1 of the others is 2/3 and 0.
  Rows scores = {{1, 0, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 1}};
  std::vector<uint64_t> labels = {0, 1, 3};
  EXPECT_DOUBLE_EQ(ofClasses("f1", scores, labels).value,
                   (2.0 / 3 + 0 + 1) / 3);
  EXPECT_DOUBLE_EQ(ofClasses("iou", scores, labels).value, (0.5 + 0 + 1) / 3);
  EXPECT_DOUBLE_EQ(ofClasses("balanced-accuracy", scores, labels).value,
                   2.0 / 3);
  // All columns of several labels count: f1 of an empty one is 0.
  EXPECT_DOUBLE_EQ(
      ofColumns("f1", Task::Binary, {{1, -1}, {1, -1}}, {{1, 0}, {1, 0}}).value,
      0.5);
}

TEST(Metrics, DivisionsByZeroAreZero) {
  for (const char *name : {"precision", "recall", "f1", "iou"})
    EXPECT_EQ(ofColumns(name, Task::Binary, {{-1}, {-2}}, {{0}, {0}}).value, 0)
        << name;
  EXPECT_EQ(ofColumns("mcc", Task::Binary, {{-1}, {-2}}, {{0}, {1}}).value, 0);
}

TEST(Metrics, TheThresholdDependsOnTheScores) {
  auto logits = make("recall", Task::Binary, 1);
  auto chances = make("recall", Task::Binary, 1, Scores::Probabilities);
  double value = 0.4, target = 1;
  logits->add({&value, &target});
  chances->add({&value, &target});
  EXPECT_EQ(logits->value().value, 1);
  EXPECT_EQ(chances->value().value, 0);
}

TEST(Metrics, TopAccuracyPrefersHigherClassesAmongEqualScores) {
  EXPECT_EQ(ofClasses("top1", {{1, 1, 0}}, {0}).value, 0);
  EXPECT_EQ(ofClasses("top1", {{1, 1, 0}}, {1}).value, 1);
  EXPECT_EQ(ofClasses("top2", {{1, 1, 0}}, {0}).value, 1);
}

TEST(Metrics, PerplexitySurvivesLargeLogits) {
  EXPECT_NEAR(ofClasses("perplexity", {{1e4, 1e4}}, {0}).value, 2, 1e-11);
  EXPECT_DOUBLE_EQ(
      ofClasses("perplexity", {{0.25, 0.75}}, {0}, Scores::Probabilities).value,
      4);
  EXPECT_DOUBLE_EQ(ofClasses("perplexity", {{std::log(0.25), std::log(0.75)}},
                             {0}, Scores::LogProbabilities)
                       .value,
                   4);
}

TEST(Metrics, ALargeOffsetDoesNotChangeR2) {
  // Targets 0, 1, 2, ... 9 and errors of 0.5 around 1e8 and around 0.
  Rows near, far, nearTargets, farTargets;
  for (int i = 0; i < 1000; ++i) {
    double target = i % 10, error = i % 2 ? 0.5 : -0.5;
    near.push_back({target + error});
    nearTargets.push_back({target});
    far.push_back({1e8 + target + error});
    farTargets.push_back({1e8 + target});
  }
  double expected = ofColumns("r2", Task::Numbers, near, nearTargets).value;
  EXPECT_NEAR(expected, 1 - 0.25 / 8.25, 1e-14);
  EXPECT_NEAR(ofColumns("r2", Task::Numbers, far, farTargets).value, expected,
              1e-13);
}

TEST(Metrics, R2OfAConstantTargetIsOneOrZero) {
  EXPECT_EQ(ofColumns("r2", Task::Numbers, {{3}, {3}}, {{3}, {3}}).value, 1);
  EXPECT_EQ(ofColumns("r2", Task::Numbers, {{3}, {4}}, {{3}, {3}}).value, 0);
  // r2_score([[3, 0], [3, 1]], [[3, 0], [3, 0]]): the mean of 1 and -1.
  EXPECT_DOUBLE_EQ(
      ofColumns("r2", Task::Numbers, {{3, 0}, {3, 0}}, {{3, 0}, {3, 1}}).value,
      0);
}

TEST(Metrics, RootsAreTakenPerColumn) {
  Rows values = {{3, 1}, {3, 1}}, targets = {{0, 0}, {0, 0}};
  EXPECT_DOUBLE_EQ(ofColumns("rmse", Task::Numbers, values, targets).value, 2);
  EXPECT_DOUBLE_EQ(ofColumns("mse", Task::Numbers, values, targets).value, 5);
}

TEST(Metrics, CompensatedSumsKeepSmallTerms) {
  CompensatedSum sum;
  sum.add(1e16);
  for (int i = 0; i < 1000; ++i)
    sum.add(1);
  sum.add(-1e16);
  EXPECT_EQ(sum.value(), 1000);
  sum.add(INFINITY);
  EXPECT_EQ(sum.value(), INFINITY);
}

TEST(Metrics, NamesMayHaveANumber) {
  EXPECT_EQ(findMetric("top12").number, 12u);
  for (const char *name : {"top", "topK", "top0", "top-1", "top1x", "f", ""})
    EXPECT_FALSE(findMetric(name).row) << name;
  EXPECT_EQ(suggestMetric("acuracy"), "; did you mean 'accuracy'?");
}

} // namespace
