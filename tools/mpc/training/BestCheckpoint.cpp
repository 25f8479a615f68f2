//===- BestCheckpoint.cpp - The best evaluation so far --------------------===//

#include "tools/mpc/training/BestCheckpoint.h"
#include "tools/mpc/base/Text.h"

#include <cmath>
#include <cstdio>

using namespace mpc::tool;

namespace {
struct Metric {
  const char *name;
  bool isMax; ///< Higher values are better by default.
  std::optional<double> (*valueOf)(const Evaluation &);
};
} // namespace

static constexpr Metric kMetrics[] = {
    {"loss", false,
     [](const Evaluation &e) -> std::optional<double> { return e.loss; }},
    {"accuracy", true, [](const Evaluation &e) { return e.accuracy; }},
    {"perplexity", false, [](const Evaluation &e) { return e.perplexity; }},
};

static const Metric *findMetric(const std::string &name) {
  for (const Metric &metric : kMetrics)
    if (metric.name == name)
      return &metric;
  return nullptr;
}

BestCheckpoint::BestCheckpoint(const std::string &text, uint64_t patience)
    : patience(patience) {
  size_t colon = text.find(':');
  metric = text.substr(0, colon);
  std::string order = colon == text.npos ? "" : text.substr(colon + 1);
  const Metric *found = findMetric(metric);
  if (!found)
    throw Failure(Usage, "--keep-best: must be loss, accuracy or perplexity, "
                         "optionally with :min or :max, but is '" +
                             text + "'");
  if (colon != text.npos && order != "min" && order != "max")
    throw Failure(Usage,
                  "--keep-best: '" + text + "' must end in :min or :max");
  isMax = order.empty() ? found->isMax : order == "max";
}

void BestCheckpoint::requireMetric(const Program &program) const {
  if (metric == "perplexity" && !hasPerplexity(program))
    throw Failure(Usage, "--keep-best=perplexity: only language models have a "
                         "perplexity; use loss");
}

bool BestCheckpoint::add(const Evaluation &evaluation, uint64_t step) {
  std::optional<double> value = findMetric(metric)->valueOf(evaluation);
  if (!value)
    throw Failure(Usage, "--keep-best=" + metric +
                             ": evaluations of this model have no " + metric +
                             "; use loss");
  last = step;
  if (best && !(isMax ? *value > *best : *value < *best)) {
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
                                           : format("%.4f", *best);
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
