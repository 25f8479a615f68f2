//===- CompileOptions.cpp - Options of the commands that compile ----------===//

#include "tools/mpc/CompileOptions.h"
#include "tools/mpc/Checks.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/Help.h"
#include "tools/mpc/Print.h"
#include "tools/mpc/Targets.h"
#include "tools/mpc/Text.h"

#include "compiler/Support/UserRegex.h"

#include "llvm/ADT/STLExtras.h"

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>

using namespace mpc::tool;

static const std::vector<std::string> kLosses = {
    "softmax-cross-entropy", "mse", "l1", "bce-with-logits", "output:NAME"};

/// One of the losses, alone or as LOSS:NAME of the output NAME; or output:NAME.
static CLI::Validator lossChoice() {
  return CLI::Validator(
      [](std::string &value) -> std::string {
        size_t colon = value.find(':');
        if (colon == std::string::npos || colon + 1 == value.size())
          return Choice(kLosses)(value);
        std::string kind = value.substr(0, colon);
        return kind == "output" ? "" : Choice(kLosses)(kind);
      },
      "", "loss");
}

/// Axis 0 counts samples.
static CLI::Validator labelAxis() {
  return CLI::Validator(
      [](std::string &value) -> std::string {
        char *end = nullptr;
        errno = 0;
        long long axis = std::strtoll(value.c_str(), &end, 10);
        bool isWhole = errno == 0 && end != value.c_str() && *end == 0;
        return isWhole && axis != 0
                   ? ""
                   : "must be an axis behind the first, 1 or more or below 0, "
                     "but is '" +
                         value + "'";
      },
      "", "label-axis");
}

static constexpr const char *kOwnGroup = "Options";

static std::vector<const CLI::Option *> optionsOf(const CLI::App &command) {
  return command.get_options();
}

void CompileArguments::addModelTo(CLI::App &command) {
  size_t before = optionsOf(command).size();
  addModelOptions(command);
  command.get_option("--max-ops")->group(kOwnGroup);
  added = optionsOf(command);
  added.erase(added.begin(), added.begin() + before);
}

void CompileArguments::addTo(CLI::App &command) {
  size_t before = optionsOf(command).size();
  addHelpForAll(command);
  addModelOptions(command);
  addPrecisionOptions(command);
  optimizer.addTo(command);
  addTargetOptions(command);
  addMemoryOptions(command);
  added = optionsOf(command);
  added.erase(added.begin(), added.begin() + before);
}

namespace {
/// Help without the options that mpc compile has as well.
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

void CompileArguments::addModelOptions(CLI::App &command) {
  command
      .add_option("--loss", options.loss,
                  "softmax-cross-entropy, mse, l1, bce-with-logits, KIND:NAME "
                  "or output:NAME; else found or chosen")
      ->option_text("LOSS")
      ->check(lossChoice());
  command
      .add_option("--label-axis", options.labelAxis,
                  "Axis of the output that counts classes; -1: the last")
      ->option_text("N")
      ->check(labelAxis())
      ->group(std::string(kRareGroup) + "the model");
  command
      .add_option("--label-smoothing", options.labelSmoothing,
                  "Share of each label that goes to all classes")
      ->option_text("X")
      ->check(Share());
  command
      .add_option("--batch", options.batch,
                  "Size of an open batch dimension (default: 32)")
      ->option_text("N")
      ->check(Whole(1));
  command.add_option("--dim", dims, "Size of the open dimension NAME")
      ->option_text("NAME=N")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--freeze", options.freeze,
                  "Do not train initializers with such names")
      ->option_text("REGEX")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--train-only", options.trainOnly,
                  "Train initializers with such names and no others")
      ->option_text("REGEX")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(std::string(kRareGroup) + "the model");
  command
      .add_option("--train", options.train,
                  "Train also masks, tables and buffers with such names")
      ->option_text("REGEX")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--detach", options.detach,
                  "Let no gradient flow back from values of such names")
      ->option_text("REGEX")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--padding-idx", paddings,
                  "Row of a table that lookups do not train")
      ->option_text("NAME:ROW")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(std::string(kRareGroup) + "the model");
  command
      .add_option("--batchnorm", options.batchNorm,
                  "Statistics of norms: train, frozen or as-exported")
      ->option_text("HOW")
      ->check(Choice({"train", "frozen", "as-exported"}));
  command
      .add_option("--max-ops", options.maxOps,
                  "Most operations that the model may expand to")
      ->option_text("N")
      ->check(Whole(1))
      ->group(std::string(kRareGroup) + "the model");
}

static std::string rarePrecision() {
  return std::string(kRareGroup) + "precision";
}

void CompileArguments::addPrecisionOptions(CLI::App &command) {
  // fp64 is for checks of gradients and not advertised.
  command
      .add_option("--precision", options.precision,
                  "fp32, tf32, bf16, fp16, fp8 or auto (default: bf16)")
      ->option_text("TYPE")
      ->check(
          Choice({"fp32", "tf32", "bf16", "fp16", "fp8", "auto", "fp64"}, 6))
      ->group("Precision");
  command
      .add_option("--keep-fp32", options.keepFp32,
                  "Keep nodes or op types with such names in fp32")
      ->option_text("REGEX")
      ->group("Precision");
  command
      .add_option("--force-low", options.forceLow,
                  "Put nodes or op types with such names in 16 bit")
      ->option_text("REGEX")
      ->group("Precision");
  command
      .add_option("--residual", options.residual,
                  "Sums of a residual stream: low (default), or fp32")
      ->option_text("FORMAT")
      ->check(Choice({"low", "fp32"}))
      ->group(rarePrecision());
  command
      .add_option(
          "--op-precision", options.opPrecision,
          "fp32, tf32, low or fp8 for nodes or op types; of several the "
          "last counts")
      ->option_text("REGEX=FORMAT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(rarePrecision());
  command
      .add_option("--policy", policyFile,
                  "Read such rules from a file, which others overrule")
      ->option_text("FILE.toml")
      ->group(rarePrecision());
  command
      .add_flag("--check-numerics", options.observe,
                "Let a step that is not finite name the op that began it")
      ->group(rarePrecision());
  command
      .add_option(
          "--observe", observe,
          "profile: for mpc profile, of fp32; numerics: --check-numerics")
      ->option_text("WHAT")
      ->check(Choice({"numerics", "profile"}))
      ->group(rarePrecision());
  command
      .add_option("--profile", options.profileFile,
                  "Of auto: what 'mpc profile' wrote, for --error-budget")
      ->option_text("FILE.json")
      ->group(rarePrecision());
  errorBudget = command
                    .add_option("--error-budget", options.errorBudget,
                                "Of auto: what rounding may change in the loss "
                                "(default: 0.001)")
                    ->option_text("X")
                    ->check(Above(0))
                    ->group(rarePrecision());
  masterWeights =
      command
          .add_option("--master-weights", options.masterWeights,
                      "What updates change: fp32 (default, 6 bytes with the "
                      "copy), bf16-kahan (4), bf16-stochastic (2)")
          ->option_text("KIND")
          ->check(Choice({"fp32", "bf16-kahan", "bf16-stochastic"}))
          ->group(rarePrecision());
  lossScale.addTo(command);
  fp8.addTo(command);
}

void CompileArguments::addTargetOptions(CLI::App &command) {
  // Not check(): the list comes back with every name written out.
  command
      .add_option("--target", target,
                  "cpu, cuda, cuda:sm_90; several with commas between")
      ->option_text("LIST")
      ->transform(TargetList())
      ->group("Target");
  command
      .add_option("--target-cpu", options.targetCpu,
                  "native, x86-64-v3, x86-64-v4 or LLVM's name")
      ->option_text("NAME")
      ->group("Target");
}

void CompileArguments::addMemoryOptions(CLI::App &command) {
  static const std::string group = std::string(kRareGroup) + "memory";
  command
      .add_option("--memory-budget", options.memoryBudget,
                  "Most to keep for the backward pass: 512MB, or 60% of what "
                  "is kept now; the rest runs again")
      ->option_text("BYTES|SHARE")
      ->group(group);
  command
      .add_option("--recompute", options.recompute,
                  "What runs again in the backward pass: none, selective "
                  "(what is cheap) or full (all between blocks)")
      ->option_text("WHAT")
      ->check(Choice({"none", "selective", "full"}))
      ->group(group);
}

/// A name and the whole number behind the last `separator`.
static std::optional<std::pair<std::string, int64_t>>
parsePair(const std::string &text, char separator) {
  size_t at = text.rfind(separator);
  if (at == std::string::npos || at == 0)
    return std::nullopt;
  const char *number = text.c_str() + at + 1;
  char *end = nullptr;
  errno = 0;
  long long value = std::strtoll(number, &end, 10);
  if (errno != 0 || end == number || *end != 0)
    return std::nullopt;
  return std::pair(text.substr(0, at), int64_t(value));
}

/// Adds what an option was given to `pairs`; its numbers are `lowest` or more.
static void addPairs(const char *option, const char *form, char separator,
                     int64_t lowest, const std::vector<std::string> &texts,
                     std::map<std::string, int64_t> &pairs) {
  for (const std::string &text : texts) {
    auto pair = parsePair(text, separator);
    if (!pair || pair->second < lowest)
      throw Failure(Usage, std::string(option) + " must be " + form +
                               ", but is '" + text + "'");
    if (!pairs.insert(*pair).second)
      throw Failure(Usage,
                    std::string(option) + " names '" + pair->first + "' twice");
  }
}

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

/// What --policy says, unless an option says otherwise, and the precision in
/// any case.
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

/// Weights of 16 bit are for programs that read them so; f16 has no room for
/// small updates, which its loss scale makes no larger.
static void checkMasters(const mpc::CompileOptions &options) {
  const std::string &precision = options.precision;
  if (options.masterWeights == "fp32" || precision == "bf16" ||
      precision == "fp8" || precision == "auto")
    return;
  throw Failure(Usage, "--master-weights=" + options.masterWeights +
                           " means nothing to --precision=" + precision +
                           ", whose weights are updated in " +
                           (precision == "fp64" ? "fp64" : "fp32") +
                           "; give --precision=bf16, fp8 or auto");
}

mpc::CompileOptions
CompileArguments::toOptions(const std::string &model) const {
  checkRegex("--keep-fp32", options.keepFp32);
  checkRegex("--force-low", options.forceLow);
  for (const std::string &text : options.opPrecision)
    (void)parsePrecisionRule("--op-precision", text);
  CompileOptions result = options;
  result.model = model;
  PrecisionPolicy policy = filePolicy();
  result.precision = policy.precision;
  if (!policy.residual.empty())
    result.residual = policy.residual;
  for (const PrecisionRule &rule : policy.rules)
    result.policy.push_back(formatRule(rule));
  result.targets = splitTargets(target);
  checkPrecision(result.targets, result.precision);
  result.observe |= observe == "numerics";
  result.profile = observe == "profile";
  // Rounded values say nothing about what rounding them would do.
  if (result.profile && result.precision != "fp32")
    throw Failure(Usage, "--observe=profile is for --precision=fp32, which "
                         "other formats are compared with, but this is " +
                             result.precision);
  checkMasters(result);
  if (masterWeights && masterWeights->count() != 0)
    result.given.insert("master-weights");
  result.lossScaling = lossScale.toScaling(result.precision);
  result.fp8 = fp8.toScaling(result.precision);
  if (shownProfile && result.precision != "auto")
    result.profileFile.clear();
  if (!result.profileFile.empty() && result.precision != "auto")
    throw Failure(Usage,
                  "--profile means nothing to --precision=" + result.precision);
  if (!result.profileFile.empty() && !std::ifstream(result.profileFile))
    throw Failure(InputOutput,
                  "cannot read --profile='" + result.profileFile + "'");
  if (errorBudget && errorBudget->count() != 0 && result.profileFile.empty())
    throw Failure(Usage,
                  "--error-budget needs --profile=FILE.json, which tells "
                  "what rounding does");
  optimizer.fill(result);
  addPairs("--dim", "NAME=N with a positive N", '=', 1, dims, result.dims);
  addPairs("--padding-idx", "NAME:ROW with a whole number", ':', INT64_MIN,
           paddings, result.paddingRows);
  return result;
}

void mpc::tool::printMessages(const CompileResult &result) {
  for (const std::string &text : result.notes)
    note(text);
  std::fputs(result.diagnostics.c_str(), stderr);
  if (!result.error.empty())
    throw Failure(static_cast<ExitCode>(result.exitCode), result.error);
}
