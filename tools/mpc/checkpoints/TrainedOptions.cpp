//===- TrainedOptions.cpp - Options in checkpoints ------------------------===//

#include "tools/mpc/checkpoints/TrainedOptions.h"

#include "passes/Options/OptionRow.h"

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

OptionChanges mpc::tool::compareOptions(const Session &session,
                                        const Program &program) {
  OptionChanges changes;
  changes.known =
      session.property(propertyOf(mpc::optionRow(OptionId::loss))).has_value();
  for (const OptionRow &option : comparedOptions()) {
    std::optional<std::string> before = session.property(propertyOf(option));
    std::string now = program.option(option.name);
    // Old packages lack newer options.
    if (!before || now.empty() || now == *before)
      continue;
    std::string text = std::string(option.name) + " " + quote(now) +
                       " instead of " + quote(*before);
    (option.resume == Resume::NeedsForce ? changes.incompatible
                                         : changes.compatible)
        .push_back(text);
    changes.rate |= option.id == OptionId::lr;
    changes.totalSteps |= option.id == OptionId::totalSteps;
    changes.states |= option.resume == Resume::AddsState;
  }
  return changes;
}
