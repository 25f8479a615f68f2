//===- CountMetrics.cpp - Metrics from counts per class -------------------===//

#include "tools/mpc/metrics/kinds/CountMetrics.h"

#include <cmath>

using namespace mpc::tool;
using Class = ClassCounts::Class;

MetricValue CountMetric::value() const {
  return counts.rows() == 0 ? MetricValue::none("no label counts")
                            : compute(counts);
}

static double ratio(double part, double whole) {
  return whole == 0 ? 0 : part / whole;
}

double mpc::tool::precisionOf(const Class &counts) {
  return ratio(counts.hits, counts.predicted);
}

double mpc::tool::recallOf(const Class &counts) {
  return ratio(counts.hits, counts.actual);
}

double mpc::tool::f1Of(const Class &counts) {
  return ratio(2.0 * counts.hits, double(counts.predicted) + counts.actual);
}

double mpc::tool::iouOf(const Class &counts) {
  return ratio(counts.hits,
               double(counts.predicted) + counts.actual - counts.hits);
}

/// Whether a class takes part in a mean: labels of columns always do, a class
/// only if it occurs.
static bool isCounted(const ClassCounts &counts, const Class &one) {
  return !counts.hasOneLabel() || one.predicted + one.actual > 0;
}

MetricValue mpc::tool::macroAverage(const ClassCounts &counts,
                                    ClassScore score) {
  double sum = 0, number = 0;
  for (const Class &one : counts.classes())
    if (isCounted(counts, one)) {
      sum += score(one);
      ++number;
    }
  return {ratio(sum, number), ""};
}

MetricValue mpc::tool::microAverage(const ClassCounts &counts,
                                    ClassScore score) {
  Class all;
  for (const Class &one : counts.classes()) {
    all.hits += one.hits;
    all.predicted += one.predicted;
    all.actual += one.actual;
  }
  return {score(all), ""};
}

MetricValue mpc::tool::weightedAverage(const ClassCounts &counts,
                                       ClassScore score) {
  double sum = 0, weight = 0;
  for (const Class &one : counts.classes()) {
    sum += score(one) * one.actual;
    weight += one.actual;
  }
  return {ratio(sum, weight), ""};
}

MetricValue mpc::tool::accuracyOf(const ClassCounts &counts) {
  auto share = counts.hits();
  return {ratio(share.first, share.second), "", share};
}

MetricValue mpc::tool::balancedAccuracyOf(const ClassCounts &counts) {
  double sum = 0, number = 0;
  for (const Class &one : counts.classes())
    if (one.actual > 0) {
      sum += recallOf(one);
      ++number;
    }
  return {ratio(sum, number), ""};
}

MetricValue mpc::tool::mccOf(const ClassCounts &counts) {
  // Exact: the counts of rows are far below 2^63.
  __int128 hits = 0, both = 0, predicted = 0, actual = 0, rows = counts.rows();
  for (const Class &one : counts.classes()) {
    hits += one.hits;
    both += __int128(one.predicted) * one.actual;
    predicted += __int128(one.predicted) * one.predicted;
    actual += __int128(one.actual) * one.actual;
  }
  double covariance = double(hits * rows - both);
  double variances =
      double(rows * rows - predicted) * double(rows * rows - actual);
  return {variances == 0 ? 0 : covariance / std::sqrt(variances), ""};
}
