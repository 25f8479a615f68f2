//===- OptimizerRows.cpp - Optimizers and schedules by name ---------------===//

#include "passes/Options/OptimizerRows.h"
#include "passes/Options/OptionText.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

using namespace mpc;

static std::vector<std::string> wordsOf(const char *text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;)
    words.push_back(word);
  return words;
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

namespace {
struct OptimizerRow {
  std::string name;
  std::vector<std::pair<std::string, std::string>> takes; ///< With defaults.
};
} // namespace

static OptimizerRow makeOptimizer(const char *name, const char *takes) {
  OptimizerRow row;
  row.name = name;
  for (const std::string &word : wordsOf(takes)) {
    size_t at = word.find('=');
    row.takes.emplace_back(word.substr(0, at), word.substr(at + 1));
  }
  return row;
}

static const std::vector<OptimizerRow> &optimizerRows() {
  static const std::vector<OptimizerRow> rows = {
#define MPC_OPTIMIZER(NAME, TAKES, ...) makeOptimizer(NAME, TAKES),
#include "passes/Grad/Update/Optimizers.def"
  };
  return rows;
}

static const OptimizerRow *findRow(const std::string &name) {
  for (const OptimizerRow &row : optimizerRows())
    if (row.name == name)
      return &row;
  return nullptr;
}

std::vector<std::string> mpc::optimizerNames() {
  std::vector<std::string> names;
  for (const OptimizerRow &row : optimizerRows())
    names.push_back(row.name);
  return names;
}

bool mpc::optimizerTakes(const std::string &optimizer,
                         const std::string &option) {
  const std::string asked = option == "betas" ? "beta1" : option;
  const OptimizerRow *row = findRow(optimizer);
  return row &&
         std::any_of(row->takes.begin(), row->takes.end(),
                     [&](const auto &pair) { return pair.first == asked; });
}

OptimizerOptions mpc::withDefaults(const std::string &optimizer,
                                   OptimizerOptions given) {
  const OptimizerRow *formula = findRow(optimizer);
  if (!formula)
    return given;
  visitOptions(given, [&](OptionId id, auto &field) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, double>) {
      if (field != kUnset)
        return;
      field = 0;
      for (const auto &[name, value] : formula->takes)
        if (name == optionRow(id).name)
          field = std::strtod(value.c_str(), nullptr);
    }
  });
  return given;
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

const std::vector<ScheduleRow> &mpc::schedules() {
  static const std::vector<ScheduleRow> rows = {
#define MPC_SCHEDULE(NAME, TAKES, NEEDS, HAS_END, WARMUP)                      \
  {NAME, wordsOf(TAKES), wordsOf(NEEDS), HAS_END, WARMUP},
#include "passes/Options/Schedules.def"
  };
  return rows;
}

const ScheduleRow *mpc::findSchedule(const std::string &name) {
  for (const ScheduleRow &row : schedules())
    if (row.name == name)
      return &row;
  return nullptr;
}

std::vector<std::string> mpc::scheduleNames() {
  std::vector<std::string> names;
  for (const ScheduleRow &row : schedules())
    names.push_back(row.name);
  return names;
}

std::string mpc::listing(const std::vector<std::string> &names,
                         const std::string &byDefault) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name +
            (name == byDefault ? " (default)" : "");
  return text;
}

LossScale::LossScale(const LossScalingOptions &options)
    : enabled(options.lossScale != "off"), init(options.lossScaleInit),
      min(options.lossScaleMin), max(options.lossScaleMax) {
  if (enabled && options.lossScale != "dynamic")
    init = min = max = std::strtod(options.lossScale.c_str(), nullptr);
}
