//===- RankMetrics.h - Metrics of the order of scores -----------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_METRICS_KINDS_RANKMETRICS_H
#define MPC_TOOLS_MPC_METRICS_KINDS_RANKMETRICS_H

#include "tools/mpc/metrics/Metric.h"

namespace mpc::tool {

/// Metrics of the order in which scores put the rows, per column, and then
/// their mean. Classes are compared with the rest, by their probabilities.
///
/// Keeps every score and label, about 8 bytes per score, because the order
/// is known only at the end.
class RankMetric : public Metric {
public:
  /// The score of a row, and whether the row is positive.
  using Ranked = std::vector<std::pair<double, bool>>;
  /// Computes the value of one column, sorted by descending scores.
  using Compute = MetricValue (*)(const Ranked &);

  RankMetric(const MetricShape &shape, Compute compute)
      : shape(shape), compute(compute) {}
  void add(const Row &row) override;
  MetricValue value() const override;

private:
  MetricValue valueOf(uint64_t column) const;

  MetricShape shape;
  Compute compute;
  std::vector<double> scores;   ///< By row and column.
  std::vector<uint64_t> labels; ///< By row, for Classes.
  std::vector<bool> positives;  ///< By row and column, for Binary.
  uint64_t rows = 0;
};

/// The area under the ROC curve; tied scores count half. Undefined unless there
/// are positives and negatives.
MetricValue areaUnderRoc(const RankMetric::Ranked &ranked);

/// The mean precision over the recall; 0 without positives.
MetricValue averagePrecision(const RankMetric::Ranked &ranked);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_METRICS_KINDS_RANKMETRICS_H
