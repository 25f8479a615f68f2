//===- Evaluate.cpp - Loss and accuracy over a data set -------------------===//

#include "tools/mpc/training/Evaluate.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/training/Sampler.h"
#include "tools/mpc/training/ranks/RankGroup.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>

using namespace mpc::tool;

void mpc::tool::requireEvaluate(const Program &program) {
  if (program.has("forward"))
    throw Failure(Usage, program.path + ": the program was compiled with "
                                        "--loss=external and has no loss");
  if (!program.has("evaluate"))
    throw Failure(Usage, program.path + ": the program only predicts and has "
                                        "no loss: its model has no parameters");
}

/// True if `evaluate` returns a loss for each sample rather than one for all.
static bool hasSampleLoss(const Program &program) {
  for (const Binding &output : program.outputs("evaluate"))
    if (output.name == "sample_loss")
      return true;
  return false;
}

/// The number of samples that the loss covers: all, or only whole batches, with
/// a note.
static uint64_t countForLoss(const Program &program, const Dataset &data) {
  uint64_t batch = data.batchSize(), count = data.numSamples();
  if (hasSampleLoss(program) || count % batch == 0)
    return count;
  count -= count % batch;
  if (count == 0)
    throw Failure(Usage,
                  format("%s has %s, but this loss needs whole batches of "
                         "%llu",
                         data.path.c_str(),
                         formatCount(data.numSamples(), "sample").c_str(),
                         static_cast<unsigned long long>(batch)));
  noteOnce("this loss needs whole batches: the last " +
           formatCount(data.numSamples() - count, "sample") + " of " +
           data.path + " are left out");
  return count;
}

/// Throws if the loss of a batch is not finite.
static void requireFinite(double lossSum, const Program &program,
                          const Dataset &data,
                          const std::vector<uint64_t> &indices) {
  if (std::isfinite(lossSum))
    return;
  if (std::string cause = data.explainNoLabels(indices); !cause.empty())
    throw Failure(Usage, "the loss is nan: " + cause);
  std::string cause = data.explainNonFinite(indices);
  if (cause.empty()) {
    cause = "a value is too large for the model, or the weights are not finite";
    if (std::string computed = program.explainIndices(); !computed.empty())
      cause += "; " + computed;
  }
  throw Failure(Numeric,
                format("%s: the loss of samples %llu to %llu is %g: %s",
                       data.path.c_str(),
                       static_cast<unsigned long long>(indices.front()),
                       static_cast<unsigned long long>(indices.back()),
                       unsignedNan(lossSum), cause.c_str()));
}

/// Adds the results of metrics. An accuracy and a perplexity that `evaluate`
/// does not compute become those of the evaluation.
static void addMetrics(const MetricSet &metrics, const Dataset &data,
                       Evaluation &result) {
  for (MetricResult &metric : metrics.results(data.classes())) {
    const MetricValue &value = metric.value;
    if (metric.key == "accuracy" && value.share) {
      result.accuracy = value.value;
      result.correct = double(value.share->first);
      result.counted = double(value.share->second);
    } else if (metric.key == "perplexity" && value.undefined.empty()) {
      result.perplexity = value.value;
    } else {
      result.metrics.push_back(std::move(metric));
    }
  }
}

void mpc::tool::useBatchSize(uint64_t batch, const Program &program,
                             Dataset &data, MetricSet &metrics) {
  if (batch == data.batchSize())
    return;
  data.setBatchSize(batch);
  metrics.setBatchSize(program, batch);
}

namespace {
/// What `evaluate` adds up over batches.
class LossSums {
public:
  explicit LossSums(size_t numParts) : parts(numParts) {
    sums.struct_size = sizeof(sums);
    sums.part_sums = parts.data();
    sums.num_parts = numParts;
  }
  LossSums(LossSums &&) = default;
  LossSums &operator=(LossSums &&) = default;

  void add(const LossSums &other) {
    sums.loss_sum += other.sums.loss_sum;
    sums.weight_sum += other.sums.weight_sum;
    sums.correct += other.sums.correct;
    sums.counted += other.sums.counted;
    sums.samples += other.sums.samples;
    sums.has_accuracy |= other.sums.has_accuracy;
    for (size_t i = 0; i < parts.size(); ++i)
      parts[i] += other.parts[i];
  }

  std::string toBytes() const {
    std::string bytes(reinterpret_cast<const char *>(&sums), sizeof(sums));
    return bytes.append(reinterpret_cast<const char *>(parts.data()),
                        parts.size() * sizeof(double));
  }
  size_t size() const { return sizeof(sums) + parts.size() * sizeof(double); }
  void readBytes(const char *bytes) {
    std::memcpy(&sums, bytes, sizeof(sums));
    std::memcpy(parts.data(), bytes + sizeof(sums),
                parts.size() * sizeof(double));
    sums.part_sums = parts.data();
  }

  std::vector<double> parts;
  mpc_metrics_t sums = {};
};
} // namespace

/// Adds up the sums of all ranks, whose batches take turns, as one process
/// would.
static LossSums gatherSums(const RankGroup &ranks, const std::string &own,
                           size_t numParts) {
  const std::vector<std::string> all = ranks.gather(own);
  LossSums total(numParts), batch(numParts);
  for (size_t round = 0; round * batch.size() < all[0].size(); ++round)
    for (const std::string &ofRank : all) {
      if (round * batch.size() >= ofRank.size())
        break;
      batch.readBytes(ofRank.data() + round * batch.size());
      total.add(batch);
    }
  return total;
}

Evaluation mpc::tool::evaluate(Session &session, const Program &program,
                               Dataset &data, MetricSet *metrics,
                               const RankGroup *ranks) {
  const uint64_t batch = data.batchSize(), count = data.numSamples();
  const uint64_t countedForLoss = countForLoss(program, data);
  const size_t numInputs = program.inputs("evaluate").size();
  // Metrics need the outputs of all samples.
  const bool isDivided = ranks && !metrics;
  const uint64_t step = isDivided ? ranks->size() * batch : batch;
  if (metrics)
    metrics->begin();
  const std::vector<std::string> lossKeys = keysOfLosses(program);
  LossSums total(lossKeys.size());
  std::string own;
  for (uint64_t first = isDivided ? ranks->rank() * batch : 0; first < count;
       first += step) {
    if (first >= countedForLoss && !metrics)
      break;
    const std::vector<uint64_t> indices = batchAt(first, batch, count);
    const std::vector<mpc_tensor_t> &inputs = data.gather(indices);
    data.prefetch(batchAt(first + step, batch, count));
    if (first < countedForLoss) {
      LossSums ofBatch(lossKeys.size());
      check(mpc_session_evaluate(session.get(), inputs.data(), numInputs,
                                 indices.size(), &ofBatch.sums),
            data.path);
      total.add(ofBatch);
      requireFinite(total.sums.loss_sum, program, data, indices);
      if (isDivided)
        own += ofBatch.toBytes();
    }
    if (metrics)
      metrics->add(session, inputs, indices.size(), first);
  }
  if (isDivided)
    total = gatherSums(*ranks, own, lossKeys.size());
  const mpc_metrics_t &sums = total.sums;

  Evaluation result;
  result.loss = sums.loss_sum / sums.weight_sum;
  result.correct = sums.correct;
  result.counted = sums.counted;
  result.samples = sums.samples;
  if (sums.has_accuracy)
    result.accuracy = sums.correct / sums.counted;
  if (hasPerplexity(program))
    result.perplexity = std::exp(result.loss);
  for (size_t i = 0; i < lossKeys.size(); ++i) {
    MetricResult part = {lossKeys[i], /*isMax=*/false, {}, {}};
    part.value.value = total.parts[i] / sums.weight_sum;
    result.metrics.push_back(std::move(part));
  }
  if (metrics)
    addMetrics(*metrics, data, result);
  return result;
}

std::optional<double> Evaluation::valueOf(const std::string &key) const {
  if (key == "loss")
    return loss;
  if (key == "accuracy" && accuracy)
    return accuracy;
  if (key == "perplexity" && perplexity)
    return perplexity;
  for (const MetricResult &metric : metrics)
    if (metric.key == key)
      return metric.value.undefined.empty() ? metric.value.value : NAN;
  return std::nullopt;
}

bool mpc::tool::hasPerplexity(const Program &program) {
  return program.option("metrics") == "perplexity";
}

std::string mpc::tool::formatEvaluation(const Evaluation &evaluation) {
  std::string text = format("loss %.4f", unsignedNan(evaluation.loss));
  if (evaluation.perplexity)
    text += format(", perplexity %.2f", *evaluation.perplexity);
  if (evaluation.accuracy)
    text += format(", accuracy %.2f %% (%.12g of %.12g)",
                   100 * *evaluation.accuracy, evaluation.correct,
                   evaluation.counted);
  if (std::string metrics = formatMetrics(evaluation.metrics); !metrics.empty())
    text += ", " + metrics;
  return text;
}

nlohmann::ordered_json mpc::tool::toJson(const Evaluation &evaluation) {
  nlohmann::ordered_json json;
  // nlohmann writes numbers that are not finite as null.
  json["eval_loss"] = evaluation.loss;
  if (evaluation.perplexity)
    json["perplexity"] = *evaluation.perplexity;
  json["accuracy"] = nullptr;
  if (evaluation.accuracy)
    json["accuracy"] = *evaluation.accuracy;
  for (const MetricResult &metric : evaluation.metrics) {
    const MetricValue &value = metric.value;
    if (!value.matrix.empty()) {
      json[metric.key] = value.matrix;
      for (const std::string &name : metric.classes)
        json[metric.key + "_classes"].push_back(printable(name));
    } else if (value.undefined.empty())
      json[metric.key] = value.value;
    else
      json[metric.key] = nullptr;
  }
  return json;
}
