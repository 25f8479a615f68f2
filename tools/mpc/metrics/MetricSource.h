//===- MetricSource.h - What a metric compares ------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_METRICS_METRICSOURCE_H
#define MPC_TOOLS_MPC_METRICS_METRICSOURCE_H

#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/data/DataOptions.h"
#include "tools/mpc/metrics/LossFacts.h"
#include "tools/mpc/metrics/MetricSpec.h"

#include <cstdint>
#include <string>

namespace mpc::tool {

/// An output of `predict` and the array that it is compared with.
struct MetricSource {
  Binding output;
  Binding truth;        ///< Labels or targets.
  bool isExtra = false; ///< `truth` is an array that no entry point takes.
  MetricShape shape;
  size_t axis = 1; ///< The dimension of the columns; the rank: there is none.
  uint64_t batch = 1;

  /// Whether two metrics read the same rows.
  bool isSameAs(const MetricSource &other) const {
    return output.name == other.output.name && truth.name == other.truth.name &&
           shape.task == other.shape.task;
  }
};

/// Finds what a metric compares. If the user names no output, these are output
/// and array of the loss. `data` is where the array is. Throws a Failure
/// if the choice is not clear or the metric does not apply.
MetricSource findSource(const MetricSpec &spec, const Program &program,
                        const LossFacts &loss, const DataOptions &data);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_METRICS_METRICSOURCE_H
