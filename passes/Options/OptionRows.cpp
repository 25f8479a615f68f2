//===- OptionRows.cpp - The table of options ------------------------------===//

#include "passes/Options/Loss/LossText.h"
#include "passes/Options/OptimizerRows.h"
#include "passes/Options/OptionText.h"
#include "passes/Options/PackageText.h"
#include "passes/Options/TargetHelp.h"

#include <algorithm>

using namespace mpc;

/// Helpers for the columns of Options.def.
namespace {
using namespace mpc::check;

constexpr Resume Silent = Resume::Silent, Note = Resume::Note,
                 NeedsForce = Resume::NeedsForce, AddsState = Resume::AddsState;
constexpr Export Allowed = Export::Allowed, Refused = Export::Refused;

Remembered never() { return {Remembered::When::Never}; }
Remembered ifSet() { return {Remembered::When::IfSet}; }
Remembered always() { return {Remembered::When::Always}; }
Remembered text(std::string (*text)(const CompileOptions &)) {
  return {Remembered::When::AsText, text};
}
} // namespace

static std::vector<OptionRow> makeRows() {
  std::vector<OptionRow> rows;
#define MPC_GROUP(GROUP, SECTION, RARE)                                        \
  {                                                                            \
    const char *group = #GROUP, *section = SECTION, *rareSection = RARE;
#define MPC_OPTION(FIELD, TYPE, DEFAULT, NAME, METAVAR, CHECK, PACKAGE,        \
                   RESUME, EXPORT, HELP, ...)                                  \
  rows.push_back(OptionRow{OptionId::FIELD, group, NAME, METAVAR, #TYPE,       \
                           CHECK, PACKAGE, RESUME, EXPORT, HELP, section,      \
                           rareSection} __VA_ARGS__);
#define MPC_GROUP_END(GROUP) }
#include "passes/Options/Options.def"
  const CompileOptions defaults;
  visitOptions(defaults, [&](OptionId id, const auto &field) {
    OptionRow &row = rows[static_cast<size_t>(id)];
    row.byDefault = writeWhole(row, field);
  });
  return rows;
}

const std::vector<OptionRow> &mpc::optionRows() {
  static const std::vector<OptionRow> rows = makeRows();
  return rows;
}

const OptionRow &mpc::optionRow(OptionId id) {
  return optionRows()[static_cast<size_t>(id)];
}

const OptionRow *mpc::findOption(const std::string &name) {
  for (const OptionRow &row : optionRows())
    if (row.name == name)
      return &row;
  return nullptr;
}

std::string mpc::optionName(OptionId id) {
  return std::string("option '") + optionRow(id).name + "'";
}
