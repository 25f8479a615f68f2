//===- TrainedOptions.cpp - Options in checkpoints ------------------------===//

#include "tools/mpc/checkpoints/TrainedOptions.h"

#include "passes/Options/OptimizerRows.h"
#include "passes/Options/OptionRow.h"
#include "tools/mpc/base/Text.h"

using namespace mpc::tool;
using mpc::OptionId;
using mpc::OptionRow;
using mpc::Resume;

/// Options that are compared when training resumes.
static std::vector<OptionRow> comparedOptions() {
  std::vector<OptionRow> rows;
  for (const OptionRow &row : mpc::optionRows())
    if (row.resume != Resume::Silent)
      rows.push_back(row);
  return rows;
}

static std::string propertyOf(const OptionRow &row) {
  return std::string("train.option.") + row.name;
}

void mpc::tool::rememberOptions(Session &session, const Program &program) {
  for (const OptionRow &option : comparedOptions())
    if (std::string value = program.option(option.name); !value.empty())
      session.setProperty(propertyOf(option), value);
}

/// Quotes a value; an option that may be given several times has a line for
/// each value.
static std::string quote(std::string value) {
  for (size_t at; (at = value.find('\n')) != std::string::npos;)
    value.replace(at, 1, "', '");
  return "'" + value + "'";
}

/// The learning rate of the checkpoint, which --lr may have set.
static std::optional<std::string> currentRate(const Session &session,
                                              const Program &program) {
  std::vector<std::string> names = program.learningRates();
  if (names.empty() || !program.hasState(names.front().c_str()))
    return std::nullopt;
  return format("%g", session.readScalar(names.front().c_str()));
}

OptionChanges mpc::tool::compareOptions(const Session &session,
                                        const Program &program) {
  OptionChanges changes;
  changes.known =
      session.property(propertyOf(mpc::optionRow(OptionId::loss))).has_value();
  const std::string optimizer = program.option("optimizer");
  const std::string optimizerBefore =
      session.property(propertyOf(mpc::optionRow(OptionId::optimizer)))
          .value_or(optimizer);
  auto takenByBoth = [&](const std::string &name) {
    return mpc::optimizerTakes(optimizer, name) &&
           mpc::optimizerTakes(optimizerBefore, name);
  };
  for (const OptionRow &option : comparedOptions()) {
    std::optional<std::string> before = session.property(propertyOf(option));
    std::string now = program.option(option.name);
    // Old packages lack newer options.
    if (!before || now.empty() || now == *before)
      continue;
    // Another optimizer has other hyper-parameters.
    if (option.group == std::string("Optimizer") && !takenByBoth(option.name))
      continue;
    changes.rate |= option.id == OptionId::lr;
    if (option.id == OptionId::lr)
      before = currentRate(session, program).value_or(*before);
    if (now == *before)
      continue;
    (option.resume == Resume::NeedsForce ? changes.incompatible
                                         : changes.compatible)
        .push_back({option.name, quote(*before), quote(now)});
    changes.totalSteps |= option.id == OptionId::totalSteps;
    changes.states |= option.resume == Resume::AddsState;
  }
  return changes;
}
