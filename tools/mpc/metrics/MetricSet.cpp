//===- MetricSet.cpp - The metrics of an evaluation -----------------------===//

#include "tools/mpc/metrics/MetricSet.h"
#include "tools/mpc/base/Memory.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/metrics/ConfusionTable.h"
#include "tools/mpc/options/Checks.h"

#include <algorithm>
#include <numeric>

using namespace mpc::tool;

static size_t indexOf(const std::vector<Binding> &bindings,
                      const std::string &name) {
  return size_t(std::find_if(bindings.begin(), bindings.end(),
                             [&](const Binding &binding) {
                               return binding.name == name;
                             }) -
                bindings.begin());
}

/// Whether `evaluate` computes the metric itself, without `predict`. A loss of
/// the graph may weight classes, so its accuracy counts only where the user
/// does not list it.
static bool isEvaluated(const MetricSpec &spec, const LossFacts &loss,
                        const Program &program, bool isListed) {
  if (!spec.output.empty() || (isListed && !loss.isAdded))
    return false;
  if (spec.name == "perplexity")
    return program.option("metrics") == "perplexity";
  std::vector<Binding> outputs = program.outputs("evaluate");
  return spec.name == "accuracy" &&
         indexOf(outputs, "sample_correct") < outputs.size();
}

MetricSet::MetricSet(const std::string &list, const std::string &best,
                     const Program &program, const DataOptions &data)
    : allInputs(program.inputs("evaluate")),
      numEvaluateInputs(allInputs.size()), lossKeys(keysOfLosses(program)) {
  LossFacts loss(program);
  if (!list.empty())
    for (const MetricSpec &spec : parseMetrics("--metrics", list))
      if (!isEvaluated(spec, loss, program, true))
        addEntry(spec, loss, program, data);
  if (!best.empty())
    addBest(parseBest(best), loss, program, data);
  if (entries.empty())
    return;
  for (const Binding &input : program.inputs("predict")) {
    predictInputs.push_back(indexOf(allInputs, input.name));
    if (predictInputs.back() == allInputs.size())
      allInputs.push_back(input);
  }
  outputs = program.outputs("predict");
  prepareOutputs();
  begin();
}

/// Adds the metric of `--keep-best` unless it is listed or `evaluate` has it.
void MetricSet::addBest(const BestChoice &best, const LossFacts &loss,
                        const Program &program, const DataOptions &data) {
  if (!best.spec) {
    if (best.key != "loss" &&
        std::find(lossKeys.begin(), lossKeys.end(), best.key) == lossKeys.end())
      throw Failure(
          Usage, "--keep-best: '" + best.key + "' is no loss of this program" +
                     (lossKeys.empty() ? std::string()
                                       : "; it has " + joinWords(lossKeys)));
    return;
  }
  for (const Entry &entry : entries) {
    if (entry.spec.key() != best.key)
      continue;
    if (!best.spec->array.empty() && entry.spec.array != best.spec->array)
      throw Failure(Usage, best.spec->option + " and " + entry.spec.option +
                               " compare the output with different arrays; "
                               "use the same one");
    return;
  }
  if (!isEvaluated(*best.spec, loss, program, /*isListed=*/false))
    addEntry(*best.spec, loss, program, data);
}

void MetricSet::addEntry(const MetricSpec &spec, const LossFacts &loss,
                         const Program &program, const DataOptions &data) {
  if (!program.has("predict"))
    throw Failure(Usage, spec.option + ": the program has no entry point "
                                       "'predict', which it needs");
  MetricSource source = findSource(spec, program, loss, data);
  size_t group = 0;
  while (group < groups.size() && !groups[group].source.isSameAs(source))
    ++group;
  if (group == groups.size()) {
    size_t truth = indexOf(allInputs, source.truth.name);
    if (truth == allInputs.size())
      allInputs.push_back(source.truth);
    size_t output = indexOf(program.outputs("predict"), source.output.name);
    groups.push_back({source, truth, output, RowReader(source)});
  }
  entries.push_back({spec, group, source.shape, nullptr});
}

void MetricSet::setBatchSize(const Program &program, uint64_t batch) {
  if (entries.empty())
    return;
  outputs = program.outputs(program.entryFor("predict", batch).c_str());
  for (Group &group : groups) {
    group.source.output = outputs[group.output];
    group.source.batch = batch;
    group.reader = RowReader(group.source);
  }
  prepareOutputs();
}

/// Allocates a batch of each output that a metric reads.
void MetricSet::prepareOutputs() {
  outputTensors.clear();
  buffers.resize(outputs.size());
  for (const Group &group : groups) {
    const Binding &output = outputs[group.output];
    uint64_t size = mpc_dtype_size(output.dtype);
    for (int64_t extent : output.shape)
      size *= uint64_t(extent);
    resizeOrThrow(buffers[group.output], size,
                  "a batch of '" + output.name + "'");
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    outputTensors.push_back({sizeof(mpc_tensor_t),
                             outputs[i].dtype,
                             static_cast<uint32_t>(outputs[i].shape.size()),
                             outputs[i].shape.data(),
                             buffers[i].empty() ? nullptr : buffers[i].data(),
                             {}});
}

std::vector<std::string> MetricSet::keys() const {
  std::vector<std::string> keys = lossKeys;
  for (const Entry &entry : entries)
    if (!entry.spec.metric.row->isMatrix())
      keys.push_back(entry.spec.key());
  return keys;
}

std::string MetricSet::extraArray() const {
  return allInputs.size() > numEvaluateInputs
             ? allInputs[numEvaluateInputs].name
             : "";
}

/// Calls `use` with the tensors, the number of samples and the position of each
/// batch.
template <typename Use> static void forEachBatch(Dataset &data, Use use) {
  uint64_t batch = data.batchSize(), count = data.numSamples();
  std::vector<uint64_t> indices;
  for (uint64_t first = 0; first < count; first += batch) {
    indices.resize(std::min(batch, count - first));
    std::iota(indices.begin(), indices.end(), first);
    use(data.gather(indices), indices.size(), first);
  }
}

void MetricSet::checkData(Dataset &data) const {
  if (std::none_of(groups.begin(), groups.end(), [](const Group &group) {
        return group.source.shape.task == Task::Binary ||
               (group.source.shape.task == Task::Classes &&
                !group.source.truth.range);
      }))
    return; // The values have been checked when the arrays were read.
  forEachBatch(data, [&](const std::vector<mpc_tensor_t> &tensors,
                         uint64_t samples, uint64_t first) {
    for (const Group &group : groups)
      group.reader.checkTruth(tensors[group.truth].data, samples, first);
  });
}

void MetricSet::begin() {
  for (Entry &entry : entries)
    entry.metric = entry.spec.metric.row->make(entry.shape);
}

void MetricSet::add(Session &session, const std::vector<mpc_tensor_t> &tensors,
                    uint64_t samples, uint64_t first) {
  if (entries.empty())
    return;
  std::vector<mpc_tensor_t> inputs;
  for (size_t index : predictInputs)
    inputs.push_back(tensors[index]);
  check(mpc_session_run(session.get(), "predict", inputs.data(), inputs.size(),
                        outputTensors.data(), outputTensors.size()),
        "metrics");
  for (size_t i = 0; i < groups.size(); ++i) {
    std::vector<Metric *> metrics;
    for (Entry &entry : entries)
      if (entry.group == i)
        metrics.push_back(entry.metric.get());
    Group &group = groups[i];
    group.reader.read(buffers[group.output].data(), tensors[group.truth].data,
                      samples, first, [&](const Row &row) {
                        for (Metric *metric : metrics)
                          metric->add(row);
                      });
  }
}

std::vector<MetricResult> MetricSet::results(const ClassNames &names) const {
  std::vector<MetricResult> results;
  for (const Entry &entry : entries) {
    results.push_back({entry.spec.key(),
                       entry.spec.metric.row->isMax,
                       entry.metric->value(),
                       {}});
    auto classes = names.find(allInputs[groups[entry.group].truth].name);
    if (classes != names.end() && entry.shape.task == Task::Classes)
      results.back().classes = classes->second;
    if (const std::string &why = results.back().value.undefined; !why.empty())
      noteOnce(entry.spec.key() + " is undefined: " + why);
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

static std::string formatValue(const MetricResult &result, bool showsCounts) {
  const MetricValue &value = result.value;
  if (!value.undefined.empty())
    return "undefined";
  if (value.share && !showsCounts)
    return format("%.2f %%", 100 * value.value);
  if (value.share)
    return format("%.2f %% (%llu of %llu)", 100 * value.value,
                  static_cast<unsigned long long>(value.share->first),
                  static_cast<unsigned long long>(value.share->second));
  return format(result.isMax ? "%.4f" : "%.6g", unsignedNan(value.value));
}

std::string mpc::tool::formatMetrics(const std::vector<MetricResult> &results,
                                     const std::string &prefix) {
  std::string text;
  for (const MetricResult &result : results)
    if (result.value.matrix.empty())
      text += (text.empty() ? "" : ", ") + prefix + result.key + " " +
              formatValue(result, prefix.empty());
  return text;
}

std::string
mpc::tool::formatMatrices(const std::vector<MetricResult> &results) {
  std::string text;
  for (const MetricResult &result : results)
    if (!result.value.matrix.empty())
      text += "\n" + result.key +
              " (a row for each label, a column for each prediction):" +
              formatConfusion(result.value.matrix, result.classes);
  return text;
}

void mpc::tool::addMetricsTo(CLI::App &command, std::string &list) {
  command
      .add_option("--metrics", list,
                  "Metrics of evaluations: accuracy, top5, f1, auc, iou, mae, "
                  "r2, ...; a wrong name lists all. METRIC:OUTPUT names an "
                  "output of the model, METRIC:OUTPUT=ARRAY also the array to "
                  "compare it with")
      ->option_text("LIST")
      ->check(NotEmpty());
}
