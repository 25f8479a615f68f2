//===- Registry.cpp - All metrics by name ---------------------------------===//

#include "tools/mpc/metrics/Registry.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/metrics/kinds/CountMetrics.h"
#include "tools/mpc/metrics/kinds/ErrorMetrics.h"
#include "tools/mpc/metrics/kinds/RankMetrics.h"
#include "tools/mpc/metrics/kinds/ScoreMetrics.h"

#include <cstring>

using namespace mpc::tool;
using Made = std::unique_ptr<Metric>;

/// The most classes of a confusion matrix: 8 MB of counts.
static constexpr uint64_t kMaxConfusedClasses = 1024;

//===----------------------------------------------------------------------===//
// Constructors
//===----------------------------------------------------------------------===//

template <CountMetric::Compute compute>
static Made makeCount(const MetricShape &shape) {
  return std::make_unique<CountMetric>(shape, compute);
}

template <ClassScore score> static Made makeDefault(const MetricShape &shape) {
  return makeCount<byDefault<score>>(shape);
}

template <ClassScore score> static Made makeMacro(const MetricShape &shape) {
  return std::make_unique<CountMetric>(shape, [](const ClassCounts &counts) {
    return macroAverage(counts, score);
  });
}

template <ClassScore score> static Made makeMicro(const MetricShape &shape) {
  return std::make_unique<CountMetric>(shape, [](const ClassCounts &counts) {
    return microAverage(counts, score);
  });
}

template <ClassScore score> static Made makeWeighted(const MetricShape &shape) {
  return std::make_unique<CountMetric>(shape, [](const ClassCounts &counts) {
    return weightedAverage(counts, score);
  });
}

template <RankMetric::Compute compute>
static Made makeRank(const MetricShape &shape) {
  return std::make_unique<RankMetric>(shape, compute);
}

template <ErrorMetric::Compute compute, uint64_t least = 1>
static Made makeError(const MetricShape &shape) {
  return std::make_unique<ErrorMetric>(shape, compute, least);
}

template <typename T> static Made makeOne(const MetricShape &shape) {
  return std::make_unique<T>(shape);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static constexpr unsigned kClasses = 1u << unsigned(Task::Classes);
static constexpr unsigned kBinary = 1u << unsigned(Task::Binary);
static constexpr unsigned kBoth = kClasses | kBinary;
static constexpr unsigned kNumbers = 1u << unsigned(Task::Numbers);

static constexpr MetricRow kRows[] = {
    {"accuracy", kBoth, true, false, 0, makeCount<accuracyOf>},
    {"balanced-accuracy", kBoth, true, true, 0, makeCount<balancedAccuracyOf>},
    {"topK", kClasses, true, false, 0, makeOne<TopAccuracy>},
    {"precision", kBoth, true, false, 0, makeDefault<precisionOf>},
    {"precision-macro", kBoth, true, false, 0, makeMacro<precisionOf>},
    {"precision-micro", kBoth, true, false, 0, makeMicro<precisionOf>},
    {"precision-weighted", kBoth, true, false, 0, makeWeighted<precisionOf>},
    {"recall", kBoth, true, false, 0, makeDefault<recallOf>},
    {"recall-macro", kBoth, true, false, 0, makeMacro<recallOf>},
    {"recall-micro", kBoth, true, false, 0, makeMicro<recallOf>},
    {"recall-weighted", kBoth, true, false, 0, makeWeighted<recallOf>},
    {"f1", kBoth, true, false, 0, makeDefault<f1Of>},
    {"f1-macro", kBoth, true, false, 0, makeMacro<f1Of>},
    {"f1-micro", kBoth, true, false, 0, makeMicro<f1Of>},
    {"f1-weighted", kBoth, true, false, 0, makeWeighted<f1Of>},
    {"iou", kBoth, true, false, 0, makeDefault<iouOf>},
    {"mcc", kBoth, true, true, 0, makeCount<mccOf>},
    {"auc", kBoth, true, false, 0, makeRank<areaUnderRoc>},
    {"average-precision", kBoth, true, false, 0, makeRank<averagePrecision>},
    {"perplexity", kClasses, false, false, 0, makeOne<Perplexity>},
    {"confusion", kBoth, true, true, kMaxConfusedClasses, makeOne<Confusion>},
    {"mae", kNumbers, false, false, 0, makeError<meanAbsoluteError>},
    {"mse", kNumbers, false, false, 0, makeError<meanSquaredError>},
    {"rmse", kNumbers, false, false, 0, makeError<rootMeanSquaredError>},
    {"r2", kNumbers, true, false, 0, makeError<determination, 2>},
};

bool MetricRow::takesNumber() const {
  return name[std::strlen(name) - 1] == 'K';
}

bool MetricRow::isMatrix() const { return std::strcmp(name, "confusion") == 0; }

/// The number K of "top5" for a row called "topK"; 0 if the name is another.
static uint64_t numberIn(const std::string &name, const MetricRow &row) {
  std::string prefix(row.name, std::strlen(row.name) - 1);
  if (name.rfind(prefix, 0) != 0 || name.size() == prefix.size() ||
      name.size() > prefix.size() + 9)
    return 0;
  uint64_t number = 0;
  for (char digit : name.substr(prefix.size())) {
    if (digit < '0' || digit > '9')
      return 0;
    number = 10 * number + uint64_t(digit - '0');
  }
  return number;
}

NamedMetric mpc::tool::findMetric(const std::string &name) {
  for (const MetricRow &row : kRows) {
    if (!row.takesNumber() && row.name == name)
      return {&row, 0};
    if (uint64_t number = row.takesNumber() ? numberIn(name, row) : 0)
      return {&row, number};
  }
  return {};
}

/// How the name of a row is written: "top5".
static std::string exampleOf(const MetricRow &row) {
  return row.takesNumber()
             ? std::string(row.name, std::strlen(row.name) - 1) + "5"
             : row.name;
}

std::string mpc::tool::listMetrics(std::optional<Task> task) {
  std::vector<std::string> names;
  for (const MetricRow &row : kRows)
    if (!task || row.appliesTo(*task))
      names.push_back(exampleOf(row));
  return joinWords(names);
}

std::string mpc::tool::suggestMetric(const std::string &name) {
  std::vector<std::string> names;
  for (const MetricRow &row : kRows)
    names.push_back(exampleOf(row));
  std::string nearest = findNearest(name, names);
  return nearest.empty() ? "; there are " + listMetrics()
                         : "; did you mean '" + nearest + "'?";
}
