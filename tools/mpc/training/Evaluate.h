//===- Evaluate.h - Loss and accuracy over a data set -----------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_EVALUATE_H
#define MPC_TOOLS_MPC_TRAINING_EVALUATE_H

#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/data/Dataset.h"
#include "tools/mpc/metrics/MetricSet.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace mpc::tool {

class RankGroup;

struct Evaluation {
  double loss;                      ///< Weighted mean over all samples.
  std::optional<double> accuracy;   ///< In [0, 1]; for classifiers.
  std::optional<double> perplexity; ///< For language models.
  double correct, counted;          ///< accuracy = correct / counted.
  uint64_t samples;
  std::vector<MetricResult> metrics; ///< Those of `--metrics`, in that order.

  /// The value of "loss", "accuracy", "f1:logits", ...; nan if it is undefined,
  /// none if the evaluation does not have it.
  std::optional<double> valueOf(const std::string &key) const;
};

/// Throws a Failure if `program` cannot be evaluated.
void requireEvaluate(const Program &program);

/// Evaluates in batches of another size from now on.
void useBatchSize(uint64_t batch, const Program &program, Dataset &data,
                  MetricSet &metrics);

/// Runs `evaluate` over all samples: the last batch is padded with samples that
/// do not count. A loss that is one number for the whole batch cannot be
/// masked; in that case an incomplete last batch is left out, with a note on
/// stderr. `metrics`, which may be null, are computed over all samples; `data`
/// must then have its inputs. `ranks`, if not null, share the batches, unless
/// there are metrics, and all get the same result as one process.
Evaluation evaluate(Session &session, const Program &program, Dataset &data,
                    MetricSet *metrics = nullptr,
                    const RankGroup *ranks = nullptr);

/// Whether the exponential of the mean loss of `program` is a perplexity,
/// because the loss is over the tokens of texts.
bool hasPerplexity(const Program &program);

/// "loss 0.0661, accuracy 98.32 % (292 of 297), f1 0.9830".
std::string formatEvaluation(const Evaluation &evaluation);

/// {"eval_loss": ..., "accuracy": ...}; numbers that are not finite are null.
/// Language models also have "perplexity", and each metric has its own key.
nlohmann::ordered_json toJson(const Evaluation &evaluation);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_EVALUATE_H
