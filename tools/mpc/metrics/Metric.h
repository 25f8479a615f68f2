//===- Metric.h - A measure of predictions ----------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_METRICS_METRIC_H
#define MPC_TOOLS_MPC_METRICS_METRIC_H

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mpc::tool {

/// What an output predicts: one class per row, yes or no for each column, or a
/// number for each column.
enum class Task { Classes, Binary, Numbers };

/// How to read the scores of Classes and Binary.
enum class Scores { Logits, Probabilities, LogProbabilities };

/// What a metric knows before the first row.
struct MetricShape {
  Task task;
  uint64_t columns; ///< Scores per row: classes, labels or numbers.
  Scores scores = Scores::Logits;
  uint64_t number = 0; ///< The number in the metric's name: 5 in top5.

  /// The score above which a column is predicted to be positive.
  double threshold() const { return scores == Scores::Logits ? 0 : 0.5; }
};

/// One prediction and what it is compared with.
struct Row {
  const double *values = nullptr;  ///< One per column.
  const double *targets = nullptr; ///< One per column; null for Classes.
  uint64_t label = 0;              ///< The true class, for Classes.
  uint64_t predicted = 0;          ///< The first class with the highest score.
};

/// The result of a metric: a number, no number for a reason, or a matrix.
struct MetricValue {
  double value = 0;
  std::string undefined; ///< Why there is no value; "" if there is one.
  /// For metrics that are a share of all rows: hits and rows.
  std::optional<std::pair<uint64_t, uint64_t>> share = std::nullopt;
  std::vector<std::vector<uint64_t>> matrix = {};

  static MetricValue none(std::string why) {
    return {0, std::move(why), std::nullopt, {}};
  }
};

/// Computes one number, or a matrix, from predictions that arrive row by row.
/// The definitions are those of scikit-learn. Metrics keep sums, not rows,
/// unless their comment states otherwise.
class Metric {
public:
  virtual ~Metric() = default;
  virtual void add(const Row &row) = 0;
  virtual MetricValue value() const = 0;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_METRICS_METRIC_H
