//===- MetricSet.h - The metrics of an evaluation ---------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_METRICS_METRICSET_H
#define MPC_TOOLS_MPC_METRICS_METRICSET_H

#include "tools/mpc/data/Dataset.h"
#include "tools/mpc/metrics/RowReader.h"

#include <memory>
#include <string>
#include <vector>

namespace mpc::tool {

/// The result of one metric.
struct MetricResult {
  std::string key; ///< "f1", "f1:logits".
  bool isMax;
  MetricValue value;
  std::vector<std::string> classes; ///< Their names, if the data has names.
};

/// The metrics that the user asks for. Runs `predict` on the batches of an
/// evaluation and adds the rows to the metrics.
class MetricSet {
public:
  /// `list` is the value of `--metrics`, `best` that of `--keep-best`; each may
  /// be empty. `data` is the file to evaluate. Throws a Failure if a metric is
  /// unknown or does not apply.
  MetricSet(const std::string &list, const std::string &best,
            const Program &program, const DataOptions &data);

  /// The inputs that a Dataset must bind: those of `evaluate`, and then arrays
  /// that only metrics read.
  const std::vector<Binding> &inputs() const { return allInputs; }

  /// The keys of the results that are numbers, and of the losses of a sum.
  std::vector<std::string> keys() const;

  /// The first array that only a metric reads; "" if there is none.
  std::string extraArray() const;

  /// Prepares for batches of another size, which `predict` must have.
  void setBatchSize(const Program &program, uint64_t batch);

  /// Throws a Failure if the labels or targets do not suit a metric.
  void checkData(Dataset &data) const;

  /// Begins an evaluation.
  void begin();

  /// Adds a batch: `tensors` are those of inputs(), the first `samples` samples
  /// count, and `first` is the position of the batch.
  void add(Session &session, const std::vector<mpc_tensor_t> &tensors,
           uint64_t samples, uint64_t first);

  /// The results, in the order of the list. An accuracy or a perplexity that
  /// `evaluate` computes itself is not among them. `names` are those of the
  /// data.
  std::vector<MetricResult> results(const ClassNames &names) const;

private:
  struct Entry {
    MetricSpec spec;
    size_t group;
    MetricShape shape;
    std::unique_ptr<Metric> metric;
  };
  /// Metrics that read the same rows.
  struct Group {
    MetricSource source;
    size_t truth;  ///< Index among the inputs.
    size_t output; ///< Index among the outputs of `predict`.
    RowReader reader;
  };

  void addBest(const BestChoice &best, const LossFacts &loss,
               const Program &program, const DataOptions &data);
  void addEntry(const MetricSpec &spec, const LossFacts &loss,
                const Program &program, const DataOptions &data);
  void prepareOutputs();

  std::vector<Entry> entries;
  std::vector<Group> groups;
  std::vector<Binding> allInputs, outputs;
  std::vector<size_t> predictInputs; ///< Indices among the inputs.
  std::vector<std::vector<char>> buffers;
  std::vector<mpc_tensor_t> outputTensors;
  size_t numEvaluateInputs;
  std::vector<std::string> lossKeys;
};

/// "f1 0.9421, top5 99.10 % (295 of 297)"; a matrix is left out.
/// With a `prefix` before each name, the counts are left out, too.
std::string formatMetrics(const std::vector<MetricResult> &results,
                          const std::string &prefix = "");

/// A table for each matrix, each line with a newline before it; "" if there is
/// none.
std::string formatMatrices(const std::vector<MetricResult> &results);

/// Adds `--metrics` to a command.
void addMetricsTo(CLI::App &command, std::string &list);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_METRICS_METRICSET_H
