//===- ErrorMetrics.h - Metrics of predicted numbers ------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_METRICS_KINDS_ERRORMETRICS_H
#define MPC_TOOLS_MPC_METRICS_KINDS_ERRORMETRICS_H

#include "tools/mpc/metrics/Metric.h"
#include "tools/mpc/metrics/kinds/CompensatedSum.h"

namespace mpc::tool {

/// A metric that is computed for each column; its value is the mean of them.
class ErrorMetric : public Metric {
public:
  /// Sums over one column.
  struct Column {
    uint64_t count = 0;
    CompensatedSum absolute, squared; ///< Sums of errors.
    /// Mean and squared deviations of the targets, minus the first target
    /// (Welford): a large offset does not cancel.
    double first = 0, mean = 0;
    CompensatedSum deviations;

    void add(double prediction, double target);
  };
  using Compute = double (*)(const Column &);

  /// `least` is the number of rows that the metric needs.
  ErrorMetric(const MetricShape &shape, Compute compute, uint64_t least = 1)
      : columns(shape.columns), compute(compute), least(least) {}
  void add(const Row &row) override;
  MetricValue value() const override;

private:
  std::vector<Column> columns;
  Compute compute;
  uint64_t least;
};

double meanAbsoluteError(const ErrorMetric::Column &column);
double meanSquaredError(const ErrorMetric::Column &column);
double rootMeanSquaredError(const ErrorMetric::Column &column);
/// 1 minus the squared errors by the variance; for a constant target 1 if all
/// predictions are exact, else 0.
double determination(const ErrorMetric::Column &column);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_METRICS_KINDS_ERRORMETRICS_H
