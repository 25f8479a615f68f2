//===- ScoreMetrics.cpp - Metrics of class scores -------------------------===//

#include "tools/mpc/metrics/kinds/ScoreMetrics.h"

#include <algorithm>
#include <cmath>

using namespace mpc::tool;

void TopAccuracy::add(const Row &row) {
  double own = row.values[row.label];
  uint64_t better = 0;
  for (uint64_t i = 0; i < shape.columns; ++i)
    better += row.values[i] > own || (row.values[i] == own && i > row.label);
  hits += better < shape.number;
  ++rows;
}

MetricValue TopAccuracy::value() const {
  if (rows == 0)
    return MetricValue::none("no label counts");
  return {double(hits) / rows, "", std::pair(hits, rows)};
}

double mpc::tool::logSumExp(const double *values, uint64_t count) {
  double most = *std::max_element(values, values + count);
  if (!std::isfinite(most))
    return most;
  double sum = 0;
  for (uint64_t i = 0; i < count; ++i)
    sum += std::exp(values[i] - most);
  return most + std::log(sum);
}

void Perplexity::add(const Row &row) {
  double own = row.values[row.label];
  ++rows;
  switch (shape.scores) {
  case Scores::Logits:
    return entropy.add(logSumExp(row.values, shape.columns) - own);
  case Scores::Probabilities:
    return entropy.add(-std::log(own));
  case Scores::LogProbabilities:
    return entropy.add(-own);
  }
}

MetricValue Perplexity::value() const {
  if (rows == 0)
    return MetricValue::none("no label counts");
  return {std::exp(entropy.value() / rows), ""};
}

Confusion::Confusion(const MetricShape &shape) : shape(shape) {
  uint64_t classes = shape.task == Task::Binary ? 2 : shape.columns;
  matrix.assign(classes, std::vector<uint64_t>(classes));
}

void Confusion::add(const Row &row) {
  if (shape.task == Task::Classes)
    ++matrix[row.label][row.predicted];
  else
    ++matrix[row.targets[0] > 0.5][row.values[0] > shape.threshold()];
}

MetricValue Confusion::value() const { return {0, "", std::nullopt, matrix}; }
