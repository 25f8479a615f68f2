//===- CheckOptions.cpp - Checks of option combinations -------------------===//

#include "compiler/Support/Precision/Precisions.h"
#include "passes/Options/OptimizerRows.h"
#include "passes/Options/OptionText.h"

#include <algorithm>

using namespace mpc;

static std::string quoted(const char *name) {
  return std::string("option '") + name + "'";
}

/// "option 'precision'=bf16"
static std::string valueOf(const CompileOptions &options, OptionId asked) {
  std::string text = optionName(asked) + "=";
  visitOptions(options, [&](OptionId id, const auto &field) {
    if (id == asked)
      for (const std::string &value : writeValue(optionRow(id), field))
        text += value;
  });
  return text;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static std::string checkLossScale(const CompileOptions &options) {
  LossScale scale(options);
  if (options.lossScale != "dynamic")
    return "";
  if (!(scale.min < scale.max))
    return quoted("loss-scale-min") + " (" + shortest(scale.min) +
           ") must be less than " + quoted("loss-scale-max") + " (" +
           shortest(scale.max) + ")";
  if (scale.init < scale.min || scale.init > scale.max)
    return quoted("loss-scale-init") + " (" + shortest(scale.init) +
           ") must be between " + quoted("loss-scale-min") + " (" +
           shortest(scale.min) + ") and " + quoted("loss-scale-max") + " (" +
           shortest(scale.max) + ")";
  return "";
}

/// 16-bit master weights require a program that computes in bf16; f16 is too
/// narrow for small updates, which the loss scale does not enlarge.
static std::string checkMasters(const CompileOptions &options) {
  const Precision &precision = precisionOf(options.precision);
  if (options.masterWeights == "fp32" || precision.tensors == Format::Bf16)
    return "";
  return valueOf(options, OptionId::masterWeights) + " has no effect with " +
         valueOf(options, OptionId::precision) +
         ", whose weights are updated in " +
         (precision.wide == Format::F64 ? "fp64" : "fp32") + "; give " +
         quoted("precision") + "=" +
         joinWords(listPrecisions(
             [](const Precision &row) { return row.tensors == Format::Bf16; }));
}

/// A caller that computes the loss is given gradients for one kind of step on
/// one kind of device.
static std::string checkExternalLoss(const CompileOptions &options) {
  if (options.loss != kExternalLoss)
    return "";
  const std::string asked = valueOf(options, OptionId::loss);
  if (options.optimizer != kNoOptimizer)
    return asked + " requires " + quoted("optimizer") + "=" + kNoOptimizer +
           ", found " + valueOf(options, OptionId::optimizer);
  if (options.batches.size() > 1 || !options.evalBatches.empty())
    return asked + " cannot be combined with several batch sizes; compile a "
                   "program for each";
  if (options.targets.size() > 1)
    return asked + " cannot be combined with several targets; compile a "
                   "program for each";
  if (options.observes() || options.profiles())
    return asked + " cannot be combined with " +
           quoted(options.observe ? "check-numerics" : "observe");
  return "";
}

/// Checks for options of updates if the caller updates the weights.
static std::string checkExternalUpdate(const CompileOptions &options) {
  if (options.optimizer != kNoOptimizer)
    return "";
  const std::string asked = valueOf(options, OptionId::optimizer);
  if (options.accumulate > 1)
    return optionName(OptionId::accumulate) + " has no effect with " + asked;
  if (options.dataParallel)
    return optionName(OptionId::dataParallel) + " has no effect with " + asked;
  if (options.masterWeights != "fp32")
    return optionName(OptionId::masterWeights) + " has no effect with " + asked;
  if (precisionOf(options.precision).scalesLoss() &&
      options.loss != kExternalLoss)
    return valueOf(options, OptionId::precision) +
           " scales gradients for the update, which " + asked +
           " leaves to the caller; use bf16 or fp32";
  return "";
}

/// Norms of all processes need processes, on devices that can wait for each
/// other within a step.
static std::string checkSyncedNorms(const CompileOptions &options) {
  if (!options.syncBatchNorm)
    return "";
  const std::string asked = optionName(OptionId::syncBatchNorm);
  if (!options.dataParallel)
    return asked + " requires " + optionName(OptionId::dataParallel);
  for (const std::string &target : options.targets)
    if (target.compare(0, 4, "cuda") == 0)
      return asked + " works on CPUs only, found " +
             valueOf(options, OptionId::targets);
  return "";
}

std::string mpc::checkOptions(const CompileOptions &options) {
  if (std::string fault = checkValues(options); !fault.empty())
    return fault;
  // Values must not be rounded yet to measure the effect of rounding.
  if (options.profiles() && options.precision != "fp32")
    return quoted("observe") + "=profile requires " + quoted("precision") +
           "=fp32, found " + valueOf(options, OptionId::precision);
  if (std::string fault = checkMasters(options); !fault.empty())
    return fault;
  for (auto *check : {checkExternalLoss, checkExternalUpdate, checkLossScale,
                      checkSyncedNorms})
    if (std::string fault = check(options); !fault.empty())
      return fault;
  return "";
}

//===----------------------------------------------------------------------===//
// Options without effect
//===----------------------------------------------------------------------===//

static std::string checkNeeds(const CompileOptions &options,
                              const OptionRow &row) {
  for (const auto &[name, values] : row.needed) {
    OptionId other = findOption(name)->id;
    std::string actual = valueOf(options, other);
    bool isMet = std::any_of(values.begin(), values.end(),
                             [&](const std::string &value) {
                               return actual == optionName(other) + "=" + value;
                             });
    if (!isMet)
      return optionName(row.id) + " requires " + optionName(other) + "=" +
             joinWords(values) + ", found " + actual;
  }
  return "";
}

static bool contains(const std::vector<std::string> &names,
                     const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

static std::string checkSchedule(const CompileOptions &options) {
  const std::string asked = valueOf(options, OptionId::schedule);
  const ScheduleRow &schedule = *findSchedule(options.schedule);
  const std::set<std::string> &given = options.given;
  for (const OptionRow &row : optionRows()) {
    bool isKnown = std::any_of(
        schedules().begin(), schedules().end(),
        [&](const ScheduleRow &any) { return contains(any.takes, row.name); });
    if (!isKnown)
      continue;
    if (given.count(row.name) && !contains(schedule.takes, row.name))
      return optionName(row.id) + " has no effect with " + asked;
    if (!given.count(row.name) && contains(schedule.needs, row.name))
      return asked + " requires " + optionName(row.id);
  }
  bool isShare = options.warmup > 0 && options.warmup < 1;
  if (given.count("total-steps") && !schedule.hasEnd && !isShare)
    return quoted("total-steps") + " has no effect with " + asked +
           (given.count("warmup")
                ? ": its " + quoted("warmup") + " is a step count"
                : "");
  if (options.totalSteps > 0 && options.warmup >= options.totalSteps &&
      schedule.hasEnd)
    return valueOf(options, OptionId::warmup) + " must be less than " +
           valueOf(options, OptionId::totalSteps);
  if (options.lrMin > options.lr && given.count("lr-min"))
    return valueOf(options, OptionId::lrMin) + " is above " +
           valueOf(options, OptionId::lr);
  return "";
}

/// Checks for options that the program's optimizer does not take.
static std::string checkUpdate(const CompileOptions &options) {
  if (options.optimizer != kNoOptimizer)
    return "";
  for (const std::string &name : options.given) {
    const OptionRow *row = findOption(name);
    const std::string group = row ? row->group : "";
    if (group == "Schedule" ||
        (group == "Update" && row->id != OptionId::optimizer))
      return optionName(row->id) + " has no effect with " +
             valueOf(options, OptionId::optimizer);
  }
  return "";
}

/// Checks for options that the formula of the optimizer does not take.
static std::string checkFormula(const CompileOptions &options) {
  for (const std::string &name : options.given) {
    const OptionRow *row = findOption(name == "betas" ? "beta1" : name);
    if (row && row->group == std::string("Optimizer") &&
        !optimizerTakes(options.optimizer, name))
      return quoted(name.c_str()) + " has no effect with " +
             valueOf(options, OptionId::optimizer);
  }
  bool hasGroupDecay = std::any_of(
      options.groups.begin(), options.groups.end(), [](const auto &rule) {
        return rule.find("weight-decay=") != std::string::npos;
      });
  double decay = withDefaults(options.optimizer, options).weightDecay;
  if (options.given.count("no-decay") && decay == 0 && !hasGroupDecay)
    return quoted("no-decay") + " has no effect: " + quoted("weight-decay") +
           " is 0 with " + valueOf(options, OptionId::optimizer);
  if (options.emaWarmup && options.ema == 0)
    return quoted("ema-warmup") + " requires " + quoted("ema");
  return "";
}

std::string mpc::checkGiven(const CompileOptions &options) {
  for (const OptionRow &row : optionRows())
    if (options.given.count(row.name))
      if (std::string fault = checkNeeds(options, row); !fault.empty())
        return fault;
  if (options.given.count("force-low") &&
      !precisionOf(options.precision).tensors)
    return quoted("force-low") + " has no effect with " +
           valueOf(options, OptionId::precision);
  if (options.given.count("error-budget") && options.profileFile.empty())
    return quoted("error-budget") + " requires " + quoted("profile") +
           "=FILE.json, which contains the measured effect of rounding";
  for (const char *name : {"map-names", "init-strict"})
    if (options.given.count(name) && options.init.empty())
      return quoted(name) + " requires " + quoted("init");
  for (auto *check : {checkUpdate, checkFormula})
    if (std::string fault = check(options); !fault.empty())
      return fault;
  return checkSchedule(options);
}
