//===- ErrorMetrics.cpp - Metrics of predicted numbers --------------------===//

#include "tools/mpc/metrics/kinds/ErrorMetrics.h"

#include <cmath>

using namespace mpc::tool;

void ErrorMetric::Column::add(double prediction, double target) {
  double error = prediction - target;
  absolute.add(std::fabs(error));
  squared.add(error * error);
  if (count++ == 0)
    first = target;
  double shifted = target - first, distance = shifted - mean;
  mean += distance / count;
  deviations.add(distance * (shifted - mean));
}

void ErrorMetric::add(const Row &row) {
  for (size_t i = 0; i < columns.size(); ++i)
    columns[i].add(row.values[i], row.targets[i]);
}

MetricValue ErrorMetric::value() const {
  uint64_t count = columns.empty() ? 0 : columns[0].count;
  if (count < least)
    return MetricValue::none("fewer than " + std::to_string(least) +
                             (least == 1 ? " sample" : " samples"));
  CompensatedSum sum;
  for (const Column &column : columns)
    sum.add(compute(column));
  return {sum.value() / double(columns.size()), ""};
}

double mpc::tool::meanAbsoluteError(const ErrorMetric::Column &column) {
  return column.absolute.value() / column.count;
}

double mpc::tool::meanSquaredError(const ErrorMetric::Column &column) {
  return column.squared.value() / column.count;
}

double mpc::tool::rootMeanSquaredError(const ErrorMetric::Column &column) {
  return std::sqrt(meanSquaredError(column));
}

double mpc::tool::determination(const ErrorMetric::Column &column) {
  double errors = column.squared.value();
  double deviations = column.deviations.value();
  if (deviations == 0)
    return errors == 0 ? 1 : 0;
  return 1 - errors / deviations;
}
