//===- Evaluate.h - Loss and accuracy over a data set -----------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_EVALUATE_H
#define MPC_TOOLS_MPC_TRAINING_EVALUATE_H

#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/data/Dataset.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace mpc::tool {

struct Evaluation {
  double loss;                      ///< Weighted mean over all samples.
  std::optional<double> accuracy;   ///< Share of 1; models that classify only.
  std::optional<double> perplexity; ///< Models of language only.
  double correct, counted;          ///< accuracy = correct / counted.
  uint64_t samples;
};

/// Throws a Failure if `program` cannot be evaluated.
void requireEvaluate(const Program &program);

/// Runs `evaluate` over exactly all samples: the last batch is filled up with
/// samples that do not count. A loss that is one number for the whole batch
/// cannot be masked; there the last incomplete batch is left out, with a note
/// on stderr.
Evaluation evaluate(Session &session, const Program &program, Dataset &data);

/// Whether the exponential of a mean loss of `program` is its perplexity: the
/// loss is taken of the tokens of texts.
bool hasPerplexity(const Program &program);

/// "loss 0.0661, accuracy 98.32 % (292 of 297)".
std::string formatEvaluation(const Evaluation &evaluation);

/// {"eval_loss": ..., "accuracy": ...}; null for what is not a number. Models
/// of language have "perplexity", too.
nlohmann::ordered_json toJson(const Evaluation &evaluation);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_EVALUATE_H
