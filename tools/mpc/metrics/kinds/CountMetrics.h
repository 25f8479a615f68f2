//===- CountMetrics.h - Metrics from counts per class -----------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_METRICS_KINDS_COUNTMETRICS_H
#define MPC_TOOLS_MPC_METRICS_KINDS_COUNTMETRICS_H

#include "tools/mpc/metrics/kinds/ClassCounts.h"

namespace mpc::tool {

/// A metric that is a function of the counts per class.
class CountMetric : public Metric {
public:
  using Compute = MetricValue (*)(const ClassCounts &);

  CountMetric(const MetricShape &shape, Compute compute)
      : counts(shape), compute(compute) {}
  void add(const Row &row) override { counts.add(row); }
  MetricValue value() const override;

private:
  ClassCounts counts;
  Compute compute;
};

/// A score of one class; 0 if its denominator is 0.
using ClassScore = double (*)(const ClassCounts::Class &);
double precisionOf(const ClassCounts::Class &counts);
double recallOf(const ClassCounts::Class &counts);
double f1Of(const ClassCounts::Class &counts);
double iouOf(const ClassCounts::Class &counts);

/// The score of the positive class of one binary column; otherwise macro.
template <ClassScore score> MetricValue byDefault(const ClassCounts &counts);
/// The mean over all columns, or over the classes that occur.
MetricValue macroAverage(const ClassCounts &counts, ClassScore score);
/// The score of the sums of all counts.
MetricValue microAverage(const ClassCounts &counts, ClassScore score);
/// The mean weighted by the number of rows of each class.
MetricValue weightedAverage(const ClassCounts &counts, ClassScore score);

MetricValue accuracyOf(const ClassCounts &counts);
/// The mean recall of the classes that occur among the labels.
MetricValue balancedAccuracyOf(const ClassCounts &counts);
/// Matthews' correlation coefficient.
MetricValue mccOf(const ClassCounts &counts);

template <ClassScore score> MetricValue byDefault(const ClassCounts &counts) {
  return counts.isOneColumn() ? MetricValue{score(counts.positives()[0]), ""}
                              : macroAverage(counts, score);
}

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_METRICS_KINDS_COUNTMETRICS_H
