//===- Evaluate.cpp - Loss and accuracy over a data set -------------------===//

#include "tools/mpc/training/Evaluate.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

using namespace mpc::tool;

void mpc::tool::requireEvaluate(const Program &program) {
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

Evaluation mpc::tool::evaluate(Session &session, const Program &program,
                               Dataset &data) {
  uint64_t batch = data.batchSize(), count = data.numSamples();
  if (!hasSampleLoss(program) && count % batch != 0) {
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
  }

  mpc_metrics_t metrics = {};
  metrics.struct_size = sizeof(metrics);
  std::vector<uint64_t> indices;
  for (uint64_t first = 0; first < count; first += batch) {
    indices.resize(std::min(batch, count - first));
    std::iota(indices.begin(), indices.end(), first);
    const std::vector<mpc_tensor_t> &inputs = data.gather(indices);
    check(mpc_session_evaluate(session.get(), inputs.data(), inputs.size(),
                               indices.size(), &metrics),
          data.path);
    if (std::isfinite(metrics.loss_sum))
      continue;
    if (std::string cause = data.explainNoLabels(indices); !cause.empty())
      throw Failure(Usage, "the loss is nan: " + cause);
    std::string cause = data.explainNonFinite(indices);
    if (cause.empty()) {
      cause =
          "a value is too large for the model, or the weights are not finite";
      if (std::string computed = program.explainIndices(); !computed.empty())
        cause += "; " + computed;
    }
    throw Failure(Numeric,
                  format("%s: the loss of samples %llu to %llu is %g: %s",
                         data.path.c_str(),
                         static_cast<unsigned long long>(first),
                         static_cast<unsigned long long>(indices.back()),
                         unsignedNan(metrics.loss_sum), cause.c_str()));
  }

  Evaluation result;
  result.loss = metrics.loss_sum / metrics.weight_sum;
  result.correct = metrics.correct;
  result.counted = metrics.counted;
  result.samples = metrics.samples;
  if (metrics.has_accuracy)
    result.accuracy = metrics.correct / metrics.counted;
  if (hasPerplexity(program))
    result.perplexity = std::exp(result.loss);
  return result;
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
  return json;
}
