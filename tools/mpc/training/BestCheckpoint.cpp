//===- BestCheckpoint.cpp - The best evaluation so far --------------------===//

#include "tools/mpc/training/BestCheckpoint.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/metrics/MetricSpec.h"

#include <cmath>
#include <cstdio>

using namespace mpc::tool;

BestCheckpoint::BestCheckpoint(const std::string &text, uint64_t patience)
    : patience(patience) {
  BestChoice choice = parseBest(text);
  metric = choice.key;
  isMax = choice.isMax;
}

bool BestCheckpoint::add(const Evaluation &evaluation, uint64_t step) {
  std::optional<double> value = evaluation.valueOf(metric);
  if (!value)
    throw Failure(Usage, "--keep-best=" + metric +
                             ": evaluations of this model have no " + metric +
                             "; use loss");
  last = step;
  // A value that is undefined is never the best.
  bool isBetter = !std::isnan(*value) &&
                  (!best || (isMax ? *value > *best : *value < *best));
  if (!isBetter) {
    ++since;
    return false;
  }
  best = value;
  bestStep = step;
  since = 0;
  return true;
}

std::string BestCheckpoint::describe() const {
  if (!best)
    return "";
  std::string value = metric == "accuracy" ? format("%.2f %%", 100 * *best)
                      : isMax || metric == "loss" ? format("%.4f", *best)
                                                  : format("%.6g", *best);
  return format("best %s %s at step %llu", metric.c_str(), value.c_str(),
                static_cast<unsigned long long>(bestStep));
}

std::string BestCheckpoint::toText() const {
  return format("%s:%s %a %llu %llu %llu", metric.c_str(),
                isMax ? "max" : "min", best.value_or(NAN),
                static_cast<unsigned long long>(bestStep),
                static_cast<unsigned long long>(last),
                static_cast<unsigned long long>(since));
}

bool BestCheckpoint::restore(const std::string &text) {
  std::string prefix = metric + (isMax ? ":max " : ":min ");
  double value;
  unsigned long long step, lastAdded, count;
  if (text.rfind(prefix, 0) != 0 ||
      std::sscanf(text.c_str() + prefix.size(), "%la %llu %llu %llu", &value,
                  &step, &lastAdded, &count) != 4)
    return false;
  if (!std::isnan(value))
    best = value;
  bestStep = step;
  last = lastAdded;
  since = count;
  return true;
}
