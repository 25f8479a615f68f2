//===- RowReader.h - Rows of a batch of predictions -------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_METRICS_ROWREADER_H
#define MPC_TOOLS_MPC_METRICS_ROWREADER_H

#include "tools/mpc/metrics/MetricSource.h"

#include <functional>
#include <vector>

namespace mpc::tool {

/// Reads the predictions of a batch and what they are compared with, row by
/// row. Padding and ignored labels are left out.
class RowReader {
public:
  explicit RowReader(const MetricSource &source);

  /// Calls `use` for each row of the first `samples` samples. `first` is the
  /// position of the batch in the data, for messages. Throws a Failure if a
  /// prediction is nan.
  void read(const void *predictions, const void *truth, uint64_t samples,
            uint64_t first, const std::function<void(const Row &)> &use);

  /// Throws a Failure unless all labels and targets can be used: labels must be
  /// classes of the output, and binary targets 0 or 1.
  void checkTruth(const void *truth, uint64_t samples, uint64_t first) const;

private:
  /// Calls `use` with the position of each row's first element, the number of
  /// the row, and its sample.
  template <typename Use> void forEachRow(uint64_t samples, Use use) const;

  MetricSource source;
  uint64_t outer = 1, inner = 1; ///< Around the columns.
  std::vector<double> values, targets;
};

/// An element of a tensor as a double.
double elementAt(const void *data, mpc_dtype_t dtype, uint64_t index);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_METRICS_ROWREADER_H
