//===- ScoreMetrics.h - Metrics of class scores -----------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_METRICS_KINDS_SCOREMETRICS_H
#define MPC_TOOLS_MPC_METRICS_KINDS_SCOREMETRICS_H

#include "tools/mpc/metrics/Metric.h"
#include "tools/mpc/metrics/kinds/CompensatedSum.h"

namespace mpc::tool {

/// The share of rows whose label has one of the K highest scores. Among equal
/// scores, higher classes come first, as in scikit-learn.
class TopAccuracy : public Metric {
public:
  explicit TopAccuracy(const MetricShape &shape) : shape(shape) {}
  void add(const Row &row) override;
  MetricValue value() const override;

private:
  MetricShape shape;
  uint64_t hits = 0, rows = 0;
};

/// The exponential of the mean cross-entropy.
class Perplexity : public Metric {
public:
  explicit Perplexity(const MetricShape &shape) : shape(shape) {}
  void add(const Row &row) override;
  MetricValue value() const override;

private:
  MetricShape shape;
  CompensatedSum entropy;
  uint64_t rows = 0;
};

/// The number of rows for each label and each predicted class. One binary
/// column has two classes.
class Confusion : public Metric {
public:
  explicit Confusion(const MetricShape &shape);
  void add(const Row &row) override;
  MetricValue value() const override;

private:
  MetricShape shape;
  std::vector<std::vector<uint64_t>> matrix;
};

/// The logarithm of the sum of the exponentials of all scores.
double logSumExp(const double *values, uint64_t count);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_METRICS_KINDS_SCOREMETRICS_H
