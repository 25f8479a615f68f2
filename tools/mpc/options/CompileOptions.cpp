//===- CompileOptions.cpp - Options of commands that compile --------------===//

#include "tools/mpc/options/CompileOptions.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/CompilerFiles.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/checkpoints/initial/FindWeights.h"
#include "tools/mpc/options/Checks.h"
#include "tools/mpc/options/Help.h"
#include "tools/mpc/options/MachineFile.h"
#include "tools/mpc/options/Targets.h"

#include "compiler/Support/UserInput/UserRegex.h"
#include "passes/Options/OptimizerRows.h"
#include "passes/Options/OptionText.h"

#include "llvm/ADT/STLExtras.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <tuple>

using namespace mpc::tool;
using mpc::OptionId;
using mpc::OptionRow;

static constexpr const char *kOwnGroup = "Options";

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

/// Adds --betas, one option for both numbers.
static CLI::Option *addBetas(CLI::App &command,
                             std::optional<std::pair<double, double>> &betas) {
  return command
      .add_option("--betas", betas,
                  "Moment decay rates for adam and its variants (default: "
                  "0.9,0.999; lion: 0.9,0.99)")
      ->option_text("B1,B2")
      ->delimiter(',');
}

/// Adds the option of a row, which sets `field`.
template <typename T>
static CLI::Option *addFlag(CLI::App &command, const OptionRow &row, T &field) {
  const std::string name = std::string("--") + row.name;
  const std::string help = withFlags(row.help);
  if constexpr (std::is_same_v<T, bool>) {
    return command.add_flag(name, field, help);
  } else if constexpr (std::is_same_v<T, mpc::Numbers>) {
    return command
        .add_option_function<std::string>(
            name,
            [&row, &field, name](const std::string &text) {
              if (std::string why = setOption(row, text, field); !why.empty())
                throw CLI::ValidationError(name, why);
            },
            help)
        ->join(',');
  } else if constexpr (std::is_same_v<T, mpc::NumberByName>) {
    return command.add_option_function<std::vector<std::string>>(
        name,
        [&row, &field, name](const std::vector<std::string> &texts) {
          field.clear();
          for (const std::string &text : texts)
            if (std::string why = setOption(row, text, field); !why.empty())
              throw CLI::ValidationError(name, why);
        },
        help);
  } else {
    return command.add_option(name, field, help);
  }
}

template <typename T>
void CompileArguments::addRow(CLI::App &command, const OptionRow &row,
                              T &field) {
  const std::string rare = row.rareSection;
  if (row.id == OptionId::beta1)
    added.push_back(addBetas(command, betas)->group(rare));
  if (!row.isFlag)
    return;
  CLI::Option *option;
  if (row.id == OptionId::targets)
    // transform(), not check(): TargetList rewrites "cuda" with its
    // architecture.
    option = command.add_option("--target", target, row.help)
                 ->transform(TargetList());
  else if (row.id == OptionId::policy)
    option = command.add_option("--policy", policyFile, row.help);
  else if (row.id == OptionId::machine)
    option = command.add_option("--machine", machine, row.help);
  else
    option = addFlag(command, row, field)->check(asValidator(row.check));
  if (mpc::isList<T> &&
      !llvm::is_contained(
          {OptionId::targets, OptionId::policy, OptionId::machine}, row.id))
    option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  if (!row.isSwitch())
    option->option_text(row.metavar);
  option->group(row.isRare ? rare : row.section);
  added.push_back(option);
}

void CompileArguments::addModelTo(CLI::App &command) {
  auto add = [&](OptionId id, auto &field) {
    addRow(command, mpc::optionRow(id), field);
  };
  visitOptions(static_cast<mpc::LossOptions &>(options), add);
  visitOptions(static_cast<mpc::ModelOptions &>(options), add);
  command.get_option("--max-ops")->group(kOwnGroup);
}

void CompileArguments::addTo(CLI::App &command) {
  addHelpForAll(command);
  visitOptions(options, [&](OptionId id, auto &field) {
    addRow(command, mpc::optionRow(id), field);
  });
}

namespace {
/// Help without the options shared with mpc compile.
class OwnHelp : public HelpFormatter {
public:
  std::string
  make_group(std::string group, bool isPositional,
             std::vector<const CLI::Option *> options) const override {
    bool isOwn = isPositional || group == kOwnGroup;
    return isOwn ? HelpFormatter::make_group(group, isPositional, options) : "";
  }
};
} // namespace

void CompileArguments::addHiddenTo(CLI::App &command) {
  std::vector<CLI::Option *> own = command.get_options();
  addTo(command);
  for (CLI::Option *option : command.get_options())
    if (option->get_group() == kOwnGroup && !llvm::is_contained(own, option))
      option->group("Model");
  command.formatter(std::make_shared<OwnHelp>());
}

void CompileArguments::showProfile(CLI::App &command, const std::string &help) {
  shownProfile =
      command.get_option("--profile")->group(kOwnGroup)->description(help);
}

std::string CompileArguments::firstGiven() const {
  for (const CLI::Option *option : added)
    if (option->count() > 0 && option != shownProfile)
      return option->get_name();
  return "";
}

//===----------------------------------------------------------------------===//
// From flags to options
//===----------------------------------------------------------------------===//

static void checkRegex(const char *option, const std::string &pattern) {
  std::string reason;
  if (!pattern.empty() && !mpc::compileUserRegex(pattern, reason))
    throw Failure(Usage, std::string(option) + "='" + pattern +
                             "' is not a regular expression: " + reason);
}

bool CompileArguments::isGiven(const char *name) const {
  return llvm::any_of(added, [&](const CLI::Option *option) {
    return option->get_name() == name && option->count() > 0;
  });
}

/// The policy of --policy without what other options override, and with the
/// resulting precision.
PrecisionPolicy CompileArguments::filePolicy() const {
  PrecisionPolicy policy;
  if (!policyFile.empty())
    policy = readPolicy(policyFile);
  if (policy.precision.empty() || isGiven("--precision"))
    policy.precision = options.precision;
  if (isGiven("--residual"))
    policy.residual = options.residual;
  return policy;
}

PrecisionPolicy CompileArguments::policy() const {
  PrecisionPolicy policy = filePolicy();
  for (const std::string &text : options.opPrecision)
    policy.rules.push_back(parsePrecisionRule("--op-precision", text));
  if (!options.keepFp32.empty())
    policy.rules.push_back({options.keepFp32, "fp32"});
  if (!options.forceLow.empty())
    policy.rules.push_back({options.forceLow, "low"});
  return policy;
}

mpc::CompileOptions
CompileArguments::toOptions(const std::string &model) const {
  checkRegex("--keep-fp32", options.keepFp32);
  checkRegex("--force-low", options.forceLow);
  for (const std::string &text : options.opPrecision)
    (void)parsePrecisionRule("--op-precision", text);
  CompileOptions result = options;
  result.model = model;
  for (const CLI::Option *option : added)
    if (option->count() > 0)
      result.given.insert(option->get_lnames().front());
  PrecisionPolicy policy = filePolicy();
  result.precision = policy.precision;
  if (!policy.residual.empty())
    result.residual = policy.residual;
  for (const PrecisionRule &rule : policy.rules)
    result.policy.push_back(formatRule(rule));
  result.targets = splitTargets(target);
  if (!machine.empty())
    result.machine = mpc::textOf(readMachineOption("--machine", machine));
  checkPrecision(result.targets, result.precision);
  if (betas) {
    std::tie(result.beta1, result.beta2) = *betas;
    for (double beta : {betas->first, betas->second})
      if (std::string why =
              optionRow(OptionId::beta1).check(mpc::shortest(beta));
          !why.empty())
        throw Failure(Usage, "--betas " + why);
  }
  if (!result.init.empty())
    result.init = findWeights(result.init);
  result.openWeights = openSafetensorsWeights;
  if (!isGiven("--warmup"))
    result.warmup = mpc::findSchedule(result.schedule)->warmup;
  if (shownProfile) {
    result.given.erase("profile");
    if (result.precision != "auto")
      result.profileFile.clear();
  }
  for (std::string fault : {checkOptions(result), checkGiven(result)})
    if (!fault.empty())
      throw Failure(Usage, fault);
  if (!result.profileFile.empty() && !std::ifstream(result.profileFile))
    throw Failure(InputOutput, describeUnreadable(result.profileFile));
  return result;
}

/// Errors name the rules of a policy file by file and line.
void CompileArguments::printMessages(const CompileResult &result) const {
  std::string text = result.diagnostics;
  bool namesRule = text.find("option 'policy'='") != std::string::npos;
  std::error_code error;
  // A pipe cannot be read again.
  if (!namesRule || !std::filesystem::is_regular_file(policyFile, error))
    return mpc::tool::printMessages(result);
  for (const PrecisionRule &rule : readPolicy(policyFile).rules) {
    std::string named = "option 'policy'='" + formatRule(rule) + "'";
    std::string place =
        policyFile + ":" + std::to_string(rule.line) + ": '" + rule.match + "'";
    for (size_t at = 0; (at = text.find(named, at)) != std::string::npos;
         at += place.size())
      text.replace(at, named.size(), place);
  }
  CompileResult located{};
  located.notes = result.notes;
  located.diagnostics = text;
  located.error = result.error;
  located.failure = result.failure;
  mpc::tool::printMessages(located);
}

void mpc::tool::printDiagnostics(const std::string &diagnostics) {
  std::fputs(withFlags(diagnostics).c_str(), stderr);
}

void mpc::tool::printMessages(const CompileResult &result) {
  for (const std::string &text : result.notes)
    note(text);
  printDiagnostics(result.diagnostics);
  if (!result.error.empty())
    throw Failure(exitCodeOf(result.failure), result.error);
}
