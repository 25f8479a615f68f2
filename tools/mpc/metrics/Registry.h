//===- Registry.h - All metrics by name -------------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_METRICS_REGISTRY_H
#define MPC_TOOLS_MPC_METRICS_REGISTRY_H

#include "tools/mpc/metrics/Metric.h"

#include <memory>
#include <string>

namespace mpc::tool {

/// One metric. A new metric is a class derived from Metric and one row.
struct MetricRow {
  const char *name;     ///< "f1"; "topK" takes a number in place of K.
  unsigned tasks;       ///< A bit for each Task that it applies to.
  bool isMax;           ///< Higher values are better.
  bool needsOneLabel;   ///< Does not apply to several binary columns.
  uint64_t mostColumns; ///< 0: no limit.
  std::unique_ptr<Metric> (*make)(const MetricShape &shape);

  bool appliesTo(Task task) const { return tasks >> unsigned(task) & 1; }
  bool takesNumber() const;
  bool isMatrix() const;
};

/// A row, and the number in the name that found it.
struct NamedMetric {
  const MetricRow *row = nullptr; ///< Null: there is no such metric.
  uint64_t number = 0;
};

/// The metric called "f1", "top5", ...
NamedMetric findMetric(const std::string &name);

/// "a, b and c" for the metrics of a task, or all metrics.
std::string listMetrics(std::optional<Task> task = std::nullopt);

/// "; did you mean 'f1'?" or a list of all metrics.
std::string suggestMetric(const std::string &name);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_METRICS_REGISTRY_H
