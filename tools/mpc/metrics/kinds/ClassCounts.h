//===- ClassCounts.h - Hits per class ---------------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_METRICS_KINDS_CLASSCOUNTS_H
#define MPC_TOOLS_MPC_METRICS_KINDS_CLASSCOUNTS_H

#include "tools/mpc/metrics/Metric.h"

namespace mpc::tool {

/// Counts per class, or per column of binary predictions: all that accuracy,
/// precision, recall, F1, IoU and Matthews' coefficient need.
class ClassCounts {
public:
  struct Class {
    uint64_t hits = 0;      ///< Rows predicted and labelled so.
    uint64_t predicted = 0; ///< Rows predicted so.
    uint64_t actual = 0;    ///< Rows labelled so.
  };

  explicit ClassCounts(const MetricShape &shape)
      : shape(shape), counts(shape.columns) {}

  void add(const Row &row);

  /// True if each row has one label: classes, or one binary column.
  bool hasOneLabel() const {
    return shape.task == Task::Classes || shape.columns == 1;
  }
  bool isOneColumn() const {
    return shape.task == Task::Binary && shape.columns == 1;
  }

  /// The counts of the classes; for binary predictions, of the positive class
  /// of each column.
  const std::vector<Class> &positives() const { return counts; }

  /// The same, but one binary column has two classes, negative and positive.
  std::vector<Class> classes() const;

  /// Correct predictions and all predictions. Columns count separately.
  std::pair<uint64_t, uint64_t> hits() const;

  uint64_t rows() const { return numRows; }

private:
  MetricShape shape;
  std::vector<Class> counts;
  uint64_t numRows = 0;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_METRICS_KINDS_CLASSCOUNTS_H
