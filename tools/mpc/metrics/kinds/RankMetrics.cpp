//===- RankMetrics.cpp - Metrics of the order of scores -------------------===//

#include "tools/mpc/metrics/kinds/RankMetrics.h"
#include "tools/mpc/base/Memory.h"
#include "tools/mpc/metrics/kinds/CompensatedSum.h"
#include "tools/mpc/metrics/kinds/ScoreMetrics.h"

#include <algorithm>
#include <cmath>

using namespace mpc::tool;

/// The probability of a class, from its score.
static double probability(double score, Scores scores, double logSum) {
  switch (scores) {
  case Scores::Logits:
    return std::exp(score - logSum);
  case Scores::LogProbabilities:
    return std::exp(score);
  case Scores::Probabilities:
    break;
  }
  return score;
}

void RankMetric::add(const Row &row) {
  try {
    bool isClasses = shape.task == Task::Classes;
    double logSum = isClasses && shape.scores == Scores::Logits
                        ? logSumExp(row.values, shape.columns)
                        : 0;
    for (uint64_t i = 0; i < shape.columns; ++i) {
      scores.push_back(isClasses
                           ? probability(row.values[i], shape.scores, logSum)
                           : row.values[i]);
      if (!isClasses)
        positives.push_back(row.targets[i] > 0.5);
    }
    if (isClasses)
      labels.push_back(row.label);
    ++rows;
  } catch (const std::bad_alloc &) {
    throw Failure(Limit, "not enough memory for auc or average-precision, "
                         "which keep the scores of all samples (" +
                             formatBytes(8 * scores.size()) + " so far)");
  }
}

MetricValue RankMetric::valueOf(uint64_t column) const {
  Ranked ranked;
  ranked.reserve(rows);
  for (uint64_t row = 0; row < rows; ++row) {
    uint64_t at = row * shape.columns + column;
    ranked.emplace_back(scores[at], shape.task == Task::Classes
                                        ? labels[row] == column
                                        : positives[at]);
  }
  std::sort(ranked.begin(), ranked.end(),
            [](const auto &a, const auto &b) { return a.first > b.first; });
  return compute(ranked);
}

MetricValue RankMetric::value() const {
  if (rows == 0)
    return MetricValue::none("no label counts");
  CompensatedSum sum;
  for (uint64_t column = 0; column < shape.columns; ++column) {
    MetricValue one = valueOf(column);
    if (!one.undefined.empty() && shape.columns > 1)
      return MetricValue::none(
          (shape.task == Task::Classes ? "class " : "column ") +
          std::to_string(column) + ": " + one.undefined);
    if (!one.undefined.empty())
      return one;
    sum.add(one.value);
  }
  return {sum.value() / double(shape.columns), ""};
}

/// Calls `use` with the positives and the negatives of each group of equal
/// scores, from the highest score to the lowest.
template <typename Use>
static void forEachTie(const RankMetric::Ranked &ranked, Use use) {
  for (size_t i = 0; i < ranked.size();) {
    double score = ranked[i].first;
    uint64_t positives = 0, negatives = 0;
    for (; i < ranked.size() && ranked[i].first == score; ++i)
      ++(ranked[i].second ? positives : negatives);
    use(positives, negatives);
  }
}

MetricValue mpc::tool::areaUnderRoc(const RankMetric::Ranked &ranked) {
  uint64_t positives = 0, negatives = 0;
  // Twice the area, in pairs of a positive and a negative: exact.
  unsigned __int128 area = 0;
  forEachTie(ranked, [&](uint64_t more, uint64_t wrong) {
    area += static_cast<unsigned __int128>(wrong) * (2 * positives + more);
    positives += more;
    negatives += wrong;
  });
  if (positives == 0 || negatives == 0)
    return MetricValue::none(positives == 0 ? "no label is positive"
                                            : "every label is positive");
  return {double(area) / (2.0 * positives * negatives), ""};
}

MetricValue mpc::tool::averagePrecision(const RankMetric::Ranked &ranked) {
  uint64_t positives = 0, negatives = 0;
  CompensatedSum sum;
  forEachTie(ranked, [&](uint64_t more, uint64_t wrong) {
    positives += more;
    negatives += wrong;
    sum.add(double(more) * (double(positives) / (positives + negatives)));
  });
  return {positives == 0 ? 0 : sum.value() / positives, ""};
}
