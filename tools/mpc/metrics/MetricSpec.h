//===- MetricSpec.h - Metrics as the user names them ------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_METRICS_METRICSPEC_H
#define MPC_TOOLS_MPC_METRICS_METRICSPEC_H

#include "tools/mpc/metrics/Registry.h"

#include <optional>
#include <string>
#include <vector>

namespace mpc::tool {

/// One metric of `--metrics` or `--keep-best`: "f1", "f1:logits",
/// "mae:out2=heights".
struct MetricSpec {
  std::string option; ///< For messages: "--metrics=f1:logits".
  std::string name;   ///< "f1", "top5".
  std::string output; ///< "": the output that the loss compares.
  std::string array;  ///< "": the array that the loss compares it with.
  NamedMetric metric;

  /// "f1", "f1:logits": the name of the result.
  std::string key() const {
    return output.empty() ? name : name + ":" + output;
  }
};

/// Parses one metric; throws a Failure if there is none of the name.
MetricSpec parseMetric(const std::string &option, const std::string &text);

/// Parses a list with commas; throws a Failure that names what is wrong.
std::vector<MetricSpec> parseMetrics(const std::string &option,
                                     const std::string &list);

/// The value of `--keep-best`: a metric, or the loss, and a direction.
struct BestChoice {
  std::string key;                ///< "loss", "f1", "f1:logits".
  std::optional<MetricSpec> spec; ///< None for the loss.
  bool isMax = false;
};

/// Parses "loss", "accuracy:max", "f1:logits:min"; throws a Failure for
/// anything that has no order.
BestChoice parseBest(const std::string &text);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_METRICS_METRICSPEC_H
