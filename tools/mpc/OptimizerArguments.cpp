//===- OptimizerArguments.cpp - How weights are updated -------------------===//

#include "tools/mpc/OptimizerArguments.h"
#include "passes/Grad/Optimizers.h"
#include "tools/mpc/Checks.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/Help.h"
#include "tools/mpc/Text.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

using namespace mpc::tool;

//===----------------------------------------------------------------------===//
// What depends on the optimizer and on the schedule
//===----------------------------------------------------------------------===//

/// Options that some optimizers do not take.
static constexpr const char *kFormulaOptions[] = {
    "betas", "epsilon", "momentum", "nesterov", "alpha"};

namespace {
struct Schedule {
  const char *name;
  std::vector<std::string> takes; ///< Beside --warmup.
  std::vector<std::string> needs; ///< Of these, what has no default.
  bool needsTotal;
};
} // namespace

/// Options that some schedules do not take.
static constexpr const char *kScheduleOptions[] = {
    "lr-min", "lr-gamma", "lr-period", "lr-period-factor", "lr-power"};

static const std::vector<Schedule> &schedules() {
  static const std::vector<Schedule> rows = {
      {"constant", {}, {}, false},
      {"linear", {"lr-min"}, {}, true},
      {"cosine", {"lr-min"}, {}, true},
      {"polynomial", {"lr-min", "lr-power"}, {}, true},
      {"step", {"lr-min", "lr-gamma", "lr-period"}, {"lr-period"}, false},
      {"exponential", {"lr-min", "lr-gamma"}, {"lr-gamma"}, false},
      {"one-cycle", {}, {}, true},
      {"cosine-restarts",
       {"lr-min", "lr-period", "lr-period-factor"},
       {"lr-period"},
       false},
  };
  return rows;
}

template <typename Rows>
static std::vector<std::string> namesOf(const Rows &rows) {
  std::vector<std::string> names;
  for (const auto &row : rows)
    names.push_back(std::string(row.name));
  return names;
}

/// "sgd, adamw (default)"
static std::string listing(const std::vector<std::string> &names,
                           const std::string &byDefault) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name +
            (name == byDefault ? " (default)" : "");
  return text;
}

/// Where the rate of one-cycle is highest, as torch's OneCycleLR has it.
static constexpr double kOneCyclePeak = 0.3;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// A share below 1, or a whole number of steps.
static CLI::Validator stepsOrShare() {
  return CLI::Validator(
      [](std::string &text) -> std::string {
        double value = std::strtod(text.c_str(), nullptr);
        bool isCount = Whole(0, UINT32_MAX)(text).empty();
        if (isCount || (AtLeast(0)(text).empty() && value < 1))
          return "";
        return "must be a number of steps, or a share of them below 1, but "
               "is '" +
               text + "'";
      },
      "", "steps");
}

void OptimizerArguments::addTo(CLI::App &command) {
  size_t before = std::as_const(command).get_options().size();
  addUpdateOptions(command);
  addFormulaOptions(command);
  addScheduleOptions(command);
  added = command.get_options();
  added.erase(added.begin(), added.begin() + before);
}

void OptimizerArguments::addUpdateOptions(CLI::App &command) {
  auto add = [&](const char *name, auto &value, const std::string &description,
                 const char *text) {
    return command.add_option(name, value, description)
        ->option_text(text)
        ->group("Optimizer");
  };
  auto addList = [&](const char *name, std::vector<std::string> &value,
                     const char *description, const char *text) {
    add(name, value, description, text)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  std::vector<std::string> optimizers = namesOf(mpc::optimizers());
  add("--optimizer", chosen.optimizer, listing(optimizers, chosen.optimizer),
      "NAME")
      ->check(Choice(optimizers));
  add("--lr", chosen.lr, "Learning rate (default: 0.001)", "RATE")
      ->check(AtLeast(0));
  std::vector<std::string> schedules = namesOf(::schedules());
  add("--lr-schedule", chosen.schedule, listing(schedules, chosen.schedule),
      "NAME")
      ->check(Choice(schedules));
  add("--warmup", warmup, "Steps until that rate, or a share of all, below 1",
      "STEPS")
      ->check(stepsOrShare());
  add("--weight-decay", chosen.weightDecay, "Default: 0.01 for adamw, else 0",
      "RATE")
      ->check(AtLeast(0));
  addList("--no-decay", chosen.noDecay,
          "Keep from decay: norms, biases, or such names", "REGEX");
  addList("--group", chosen.groups,
          "REGEX:lr=0.1x,weight-decay=0 for such names", "RULE");
  add("--clip-norm", chosen.clipNorm,
      "Clip gradients to this global norm; 0: do not", "NORM")
      ->check(AtLeast(0));
  add("--accumulate", chosen.accumulate,
      "Batches per update of the weights (default: 1)", "N")
      ->check(Whole(1, UINT32_MAX));
  add("--ema", chosen.ema, "Keep an average of the weights: 0.999", "DECAY")
      ->check(Share());
}

void OptimizerArguments::addFormulaOptions(CLI::App &command) {
  static const std::string group = std::string(kRareGroup) + "the optimizer";
  auto add = [&](const char *name, auto &value, const char *description,
                 const char *text) {
    return command.add_option(name, value, description)
        ->option_text(text)
        ->group(group);
  };
  auto addFlag = [&](const char *name, bool &value, const char *description) {
    command.add_flag(name, value, description)->group(group);
  };
  add("--betas", betas,
      "Of adam and its kin (default: 0.9,0.999; lion: 0.9,0.99)", "B1,B2")
      ->delimiter(',');
  add("--epsilon", chosen.epsilon, "Default: 1e-8; lamb: 1e-6, adagrad: 1e-10",
      "VALUE")
      ->check(Above(0));
  add("--momentum", chosen.momentum,
      "Of momentum (default: 0.9) and rmsprop (0)", "VALUE")
      ->check(Share());
  addFlag("--nesterov", chosen.nesterov, "Nesterov's form of momentum");
  add("--alpha", chosen.alpha, "Of rmsprop (default: 0.99)", "VALUE")
      ->check(Share());
  add("--clip-value", chosen.clipValue,
      "Clip each number of the gradients, before the norm; 0: do not", "VALUE")
      ->check(AtLeast(0));
  addFlag("--ema-warmup", chosen.emaWarmup,
          "The average decays faster at first: (1 + n) / (10 + n)");
}

void OptimizerArguments::addScheduleOptions(CLI::App &command) {
  static const std::string group =
      std::string(kRareGroup) + "the learning rate";
  auto add = [&](const char *name, auto &value, const char *description,
                 const char *text) {
    return command.add_option(name, value, description)
        ->option_text(text)
        ->group(group);
  };
  add("--total-steps", chosen.totalSteps,
      "Updates the schedule is made for (default: as many as mpc train makes)",
      "N")
      ->check(Whole(1));
  add("--lr-min", chosen.lrMin, "Where the rate ends (default: 0)", "RATE")
      ->check(AtLeast(0));
  add("--lr-gamma", chosen.lrGamma,
      "Factor of step (default: 0.1) and exponential", "VALUE")
      ->check(Above(0));
  add("--lr-period", chosen.lrPeriod, "Of step and cosine-restarts", "STEPS")
      ->check(Whole(1, UINT32_MAX));
  add("--lr-period-factor", chosen.lrFactor,
      "How many times as long each period of cosine-restarts is (default: 1)",
      "VALUE")
      ->check(AtLeast(1));
  add("--lr-power", chosen.lrPower, "Of polynomial (default: 1)", "VALUE")
      ->check(Above(0));
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// The option if it was given, else null.
CLI::Option *OptimizerArguments::find(const std::string &name) const {
  for (CLI::Option *option : added)
    if (option->get_single_name() == name && option->count() > 0)
      return option;
  return nullptr;
}

/// An option that its optimizer does not know would be ignored in silence.
void OptimizerArguments::checkFormula() const {
  const Optimizer &optimizer = *findOptimizer(chosen.optimizer);
  for (const char *name : kFormulaOptions)
    if (find(name) && !optimizer.takesOption(name))
      throw Failure(Usage,
                    "--" + std::string(name) +
                        " means nothing to --optimizer=" + chosen.optimizer);
  if (betas)
    for (double beta : {betas->first, betas->second})
      if (!(beta >= 0 && beta < 1))
        throw Failure(
            Usage, format("--betas must lie in [0, 1), but one is %g", beta));
  if (chosen.emaWarmup && chosen.ema == 0)
    throw Failure(Usage, "--ema-warmup needs --ema");
}

void OptimizerArguments::checkSchedule() const {
  const std::string asked = "--lr-schedule=" + chosen.schedule;
  const Schedule &schedule = *std::find_if(
      schedules().begin(), schedules().end(),
      [&](const Schedule &row) { return row.name == chosen.schedule; });
  auto contains = [](const std::vector<std::string> &names, const char *name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const char *name : kScheduleOptions) {
    if (find(name) && !contains(schedule.takes, name))
      throw Failure(Usage,
                    "--" + std::string(name) + " means nothing to " + asked);
    if (!find(name) && contains(schedule.needs, name))
      throw Failure(Usage, asked + " needs --" + name);
  }
  bool isShare = warmup && *warmup > 0 && *warmup < 1;
  if (find("total-steps") && !schedule.needsTotal && !isShare)
    throw Failure(Usage, "--total-steps means nothing to " + asked +
                             (warmup ? " whose --warmup is no share" : ""));
  if (chosen.totalSteps > 0 && warmup.value_or(0) >= chosen.totalSteps &&
      schedule.needsTotal)
    throw Failure(Usage, format("--warmup=%g leaves no step of "
                                "--total-steps=%lld",
                                *warmup, (long long)chosen.totalSteps));
  if (chosen.lrMin > chosen.lr && find("lr-min"))
    throw Failure(
        Usage, format("--lr-min=%g is above --lr=%g", chosen.lrMin, chosen.lr));
}

void OptimizerArguments::fill(CompileOptions &options) const {
  checkFormula();
  checkSchedule();
  static_cast<UpdateOptions &>(options) = chosen;
  if (betas)
    std::tie(options.beta1, options.beta2) = *betas;
  options.warmup =
      warmup.value_or(chosen.schedule == "one-cycle" ? kOneCyclePeak : 0);
  for (const CLI::Option *option : added)
    if (option->count() > 0)
      options.given.insert(option->get_single_name());
}
