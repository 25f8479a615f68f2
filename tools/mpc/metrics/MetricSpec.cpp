//===- MetricSpec.cpp - Metrics as the user names them --------------------===//

#include "tools/mpc/metrics/MetricSpec.h"
#include "tools/mpc/Command.h"

#include <algorithm>

using namespace mpc::tool;

MetricSpec mpc::tool::parseMetric(const std::string &option,
                                  const std::string &text) {
  MetricSpec spec;
  spec.option = option + "=" + text;
  size_t colon = text.find(':');
  spec.name = text.substr(0, colon);
  spec.metric = findMetric(spec.name);
  if (!spec.metric.row)
    throw Failure(Usage, option + ": there is no metric '" + spec.name + "'" +
                             suggestMetric(spec.name));
  if (colon == text.npos)
    return spec;
  std::string rest = text.substr(colon + 1);
  size_t equal = rest.rfind('=');
  spec.output = rest.substr(0, equal);
  if (equal != rest.npos)
    spec.array = rest.substr(equal + 1);
  if (spec.output.empty() || (equal != rest.npos && spec.array.empty()))
    throw Failure(Usage, option + ": '" + text +
                             "' must have the form METRIC, METRIC:OUTPUT or "
                             "METRIC:OUTPUT=ARRAY");
  return spec;
}

std::vector<MetricSpec> mpc::tool::parseMetrics(const std::string &option,
                                                const std::string &list) {
  std::vector<MetricSpec> specs;
  for (size_t begin = 0; begin <= list.size();) {
    size_t end = std::min(list.find(',', begin), list.size());
    MetricSpec spec = parseMetric(option, list.substr(begin, end - begin));
    for (const MetricSpec &other : specs)
      if (other.key() == spec.key())
        throw Failure(Usage, option + ": '" + spec.key() + "' is given twice");
    specs.push_back(std::move(spec));
    begin = end + 1;
  }
  return specs;
}

BestChoice mpc::tool::parseBest(const std::string &text) {
  BestChoice best;
  std::string metric = text;
  std::optional<bool> isMax;
  size_t colon = text.rfind(':');
  std::string order = colon == text.npos ? "" : text.substr(colon + 1);
  if (order == "min" || order == "max") {
    isMax = order == "max";
    metric = text.substr(0, colon);
  }
  if (metric.substr(0, metric.find(':')) == "loss") {
    best.key = metric; // "loss:box" is one loss of a sum.
    best.isMax = isMax.value_or(false);
    return best;
  }
  if (!findMetric(metric.substr(0, metric.find(':'))).row)
    throw Failure(Usage,
                  "--keep-best: must be loss or a metric, optionally with :min "
                  "or :max, but is '" +
                      text + "'" + suggestMetric(metric));
  best.spec = parseMetric("--keep-best", metric);
  if (best.spec->metric.row->isMatrix())
    throw Failure(Usage, "--keep-best=" + text +
                             ": a confusion matrix is not a number; use a "
                             "metric such as accuracy or f1");
  best.key = best.spec->key();
  best.isMax = isMax.value_or(best.spec->metric.row->isMax);
  return best;
}
