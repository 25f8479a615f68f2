//===- PackageText.cpp - Options as recorded in a package -----------------===//

#include "passes/Options/PackageText.h"
#include "compiler/Support/Precision/Precisions.h"
#include "passes/Options/OptimizerRows.h"
#include "passes/Options/OptionText.h"

#include <algorithm>
#include <cstdio>

using namespace mpc;

/// The order in which packages have always recorded these options and facts.
/// Others follow in the order of the table.
static const char *const kOfAll[] = {"precision",        "loss",
                                     "metrics",          "accumulate",
                                     "model_path",       "incomplete-updates",
                                     "loss-scale",       "loss-scale-min",
                                     "fp8-scaling",      "observe",
                                     "computed-indices", "recompute",
                                     "memory-budget",    "optimizer",
                                     "own-step",         "learning-rates"};

/// The same, for programs without an imported training step.
static const char *const kOfUpdates[] = {
    "master-weights", "lr",          "weight-decay",    "clip-norm",
    "freeze",         "train-only",  "train",           "detach",
    "padding-idx",    "batchnorm",   "beta1",           "beta2",
    "epsilon",        "momentum",    "alpha",           "group",
    "no-decay",       "lr-schedule", "lr-min",          "warmup",
    "total-steps",    "ema",         "label-smoothing", "clip-value",
    "correct-bias",   "loss-parts",  "nesterov"};

//===----------------------------------------------------------------------===//
// Texts of rows
//===----------------------------------------------------------------------===//

static std::string printed(const char *pattern, double value) {
  char text[32];
  std::snprintf(text, sizeof(text), pattern, value);
  return text;
}

static std::string number(double value) { return printed("%g", value); }

/// Enough digits to restore the f32.
static std::string exact(double value) { return printed("%.9g", value); }

static std::string join(const Texts &texts, const char *separator) {
  std::string joined;
  for (const std::string &text : texts)
    joined += (&text == &texts.front() ? "" : separator) + text;
  return joined;
}

/// The value of a row as a package records it.
static std::string valueOf(const OptionRow &row, CompileOptions options) {
  static_cast<OptimizerOptions &>(options) =
      withDefaults(options.optimizer, options);
  std::string text;
  visitOptions(options, [&](OptionId id, const auto &field) {
    if (id != row.id)
      return;
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, double>)
      text = number(field);
    else
      text = join(writeValue(row, field), " ");
  });
  return text;
}

std::string mpc::packageText(const OptionRow &row,
                             const CompileOptions &options) {
  switch (row.package.when) {
  case Remembered::When::AsText:
    return row.package.text(options);
  case Remembered::When::Never:
    return "";
  case Remembered::When::Always:
    return valueOf(row, options);
  case Remembered::When::IfSet:
    break;
  }
  // Defaults of hyper-parameters depend on the optimizer.
  CompileOptions defaults;
  defaults.optimizer = options.optimizer;
  std::string text = valueOf(row, options);
  return text == valueOf(row, defaults) ? "" : text;
}

std::string mpc::averageText(const CompileOptions &options) {
  if (options.ema == 0)
    return "none";
  return number(options.ema) + (options.emaWarmup ? " with warm-up" : "");
}

std::string mpc::batchNormText(const CompileOptions &options) {
  return options.batchNorm.empty() ? "auto" : options.batchNorm;
}

/// "delayed over 1024 updates", "current, margin 2".
std::string mpc::fp8Text(const CompileOptions &options) {
  if (precisionOf(options.precision).layers != Precision::AllLayers)
    return "";
  std::string text = options.fp8Scaling;
  if (text == "delayed")
    text += " over " + std::to_string(options.fp8History) + " updates";
  if (options.fp8Margin != 0)
    text += ", margin " + std::to_string(options.fp8Margin);
  return text + (options.fp8Edges ? ", all layers" : "");
}

static std::string linesOf(const Texts &texts) {
  return texts.empty() ? "none" : join(texts, "\n");
}

std::string mpc::groupsText(const CompileOptions &options) {
  return linesOf(options.groups);
}

std::string mpc::noDecayText(const CompileOptions &options) {
  return linesOf(options.noDecay);
}

std::string mpc::lossScaleText(const CompileOptions &options) {
  if (!precisionOf(options.precision).scalesLoss())
    return "";
  LossScale scale(options);
  if (!scale.enabled)
    return "off";
  return scale.isFixed() ? exact(scale.init) : "dynamic";
}

std::string mpc::lossScaleMinText(const CompileOptions &options) {
  return precisionOf(options.precision).scalesLoss()
             ? exact(LossScale(options).min)
             : "";
}

/// The schedule with all values that it uses.
std::string mpc::scheduleText(const CompileOptions &options) {
  std::string text = options.schedule;
  auto add = [&](const char *name, double value) {
    text += std::string(", ") + name + " " + number(value);
  };
  if (options.warmup != 0)
    add("warmup", options.warmup);
  const ScheduleRow *schedule = findSchedule(options.schedule);
  if (!schedule)
    return text;
  for (const std::string &name : schedule->takes) {
    if (name == "lr-min")
      add("min", options.lrMin);
    if (name == "lr-gamma")
      add("gamma", options.lrGamma);
    if (name == "lr-period")
      add("period", options.lrPeriod);
    if (name == "lr-period-factor")
      add("factor", options.lrFactor);
    if (name == "lr-power")
      add("power", options.lrPower);
  }
  return text;
}

//===----------------------------------------------------------------------===//
// A package
//===----------------------------------------------------------------------===//

std::vector<std::pair<std::string, std::string>>
mpc::describeOptions(const CompileOptions &options,
                     std::map<std::string, std::string> facts,
                     bool hasImportedStep) {
  using When = Remembered::When;
  std::vector<std::pair<std::string, std::string>> list;
  auto isListed = [&](const std::string &name) {
    return std::any_of(list.begin(), list.end(),
                       [&](const auto &entry) { return entry.first == name; });
  };
  auto add = [&](const std::string &name) {
    if (auto fact = facts.find(name); fact != facts.end()) {
      list.emplace_back(*fact);
      return;
    }
    const OptionRow *row = findOption(name);
    if (!row)
      return;
    std::string text = packageText(*row, options);
    if (!text.empty() || row->package.when == When::Always)
      list.emplace_back(name, text);
  };
  for (const char *name : kOfAll)
    add(name);
  if (!hasImportedStep)
    for (const char *name : kOfUpdates)
      add(name);
  for (const OptionRow &row : optionRows())
    if (!isListed(row.name) &&
        (row.package.when == When::IfSet || !hasImportedStep))
      add(row.name);
  return list;
}
