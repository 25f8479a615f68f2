//===- Bisect.cpp - mpc debug bisect --------------------------------------===//
//
// Finds ops that must stay f32 so that training proceeds as in f32.
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Precision/Precisions.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/CompilerFiles.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Package.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/compare/Variants.h"
#include "tools/mpc/options/Checks.h"
#include "tools/mpc/options/CompileOptions.h"
#include "tools/mpc/options/PolicyFile.h"
#include "tools/mpc/training/console/Signals.h"

#include "compiler/Report/Model/Data.h"
#include "passes/Driver/Pipeline.h"

#include "llvm/Support/Regex.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <set>

using namespace mpc::tool;

namespace {

struct BisectCommand {
  std::string model, output, metric = "loss";
  DataOptions data;
  double tolerance = 0.01;
  uint64_t steps = 20, seed = 0;
  bool json = false;
  CompileArguments arguments;
  SessionSettings session;
};

using Names = std::vector<std::string>;

/// Rules that keep exactly these ops in f32.
static std::vector<PrecisionRule> rulesFor(const Names &kept) {
  std::vector<PrecisionRule> rules;
  for (const std::string &name : kept)
    rules.push_back({"^" + llvm::Regex::escape(name) + "$", "fp32"});
  return rules;
}

/// Trains the model with some ops in f32 and compares the run with one in which
/// all ops are f32.
class Bisection {
public:
  explicit Bisection(const BisectCommand &options)
      : options(options), asked(options.arguments.toOptions(options.model)) {
    if (!mpc::precisionOf(asked.precision).isMixed())
      throw Failure(Usage,
                    "nothing to bisect: no value is rounded with --precision=" +
                        asked.precision);
    mpc::CompileOptions wide = asked;
    wide.masterWeights = "fp32";
    wide.precision = "fp32";
    wide.policy.clear();
    wide.opPrecision.clear();
    reference = train(wide);
    if (reference.size() < options.steps)
      throw Failure(Numeric,
                    format("training already fails after step %zu with "
                           "--precision=fp32; run mpc train for details",
                           reference.size()));
    ops = findRounded();
  }

  /// A minimal set of ops that must stay f32: none of them can be left out, but
  /// another set may be smaller.
  Names run() {
    double all = distance({});
    if (all <= options.tolerance)
      return {};
    if (double none = distance(ops); none > options.tolerance)
      throw Failure(Numeric,
                    format("with all %zu ops in f32 the %s still deviates by "
                           "%.3g from --precision=fp32, more than "
                           "--tolerance=%g",
                           ops.size(), options.metric.c_str(), none,
                           options.tolerance));
    return explain({}, /*changed=*/false, ops);
  }

  const Names &rounded() const { return ops; }
  unsigned runs() const { return count; }
  const mpc::CompileOptions &compiled() const { return asked; }

private:
  /// QuickXplain (Junker, AAAI'04): the ops of `candidates` that must be added
  /// to `base`. `changed` tells whether `base` has changed since it failed
  /// last.
  Names explain(const Names &base, bool changed, const Names &candidates) {
    if (changed && distance(base) <= options.tolerance)
      return {};
    if (candidates.size() == 1)
      return candidates;
    size_t half = candidates.size() / 2;
    Names first(candidates.begin(), candidates.begin() + half),
        second(candidates.begin() + half, candidates.end());
    Names ofSecond = explain(join(base, first), true, second);
    Names ofFirst = explain(join(base, ofSecond), !ofSecond.empty(), first);
    return join(ofFirst, ofSecond);
  }

  static Names join(Names left, const Names &right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
  }

  /// The largest relative difference of a step from the reference; infinite if
  /// training ended early or a step failed.
  double distance(const Names &kept) {
    mpc::CompileOptions options = asked;
    for (const PrecisionRule &rule : rulesFor(kept))
      options.opPrecision.push_back(formatRule(rule));
    std::vector<double> values = train(options);
    double worst = 0;
    for (size_t i = 0; i < reference.size(); ++i) {
      double least = std::numeric_limits<float>::min();
      double apart = i < values.size()
                         ? std::abs(values[i] - reference[i]) /
                               std::max(std::abs(reference[i]), least)
                         : INFINITY;
      worst = std::isfinite(apart) ? std::max(worst, apart) : INFINITY;
    }
    ++count;
    std::fprintf(
        stderr, "mpc: run %u: %s in f32: %s %s\n", count,
        formatCount(kept.size(), "op").c_str(), this->options.metric.c_str(),
        std::isfinite(worst) ? format("deviates by %.3g", worst).c_str()
                             : "is not finite");
    return worst;
  }

  mpc::CompileResult compile(const mpc::CompileOptions &how) {
    return compileTo(how, scratch.path + "/model.mpc");
  }

  /// The metric of each step; fewer than requested if training ended early.
  std::vector<double> train(const mpc::CompileOptions &how) {
    compile(how);
    Program program(scratch.path + "/model.mpc");
    Dataset data(options.data, program.inputs(program.stepEntry()));
    SessionSettings settings = options.session;
    settings.seed = options.seed;
    Session session(program, settings);
    checkFillsBatch(data);
    setTotalSteps(session, program, options.steps);
    Sampler sampler(data.numSamples(), data.batchSize(), options.seed, true);
    std::vector<double> values;
    while (values.size() < options.steps) {
      if (const char *signal = signals.received())
        throw Failure(Stopped,
                      format("stopped by %s; no policy written", signal));
      mpc_step_info_t info = {};
      if (!update(session, data, nextBatches(sampler, program), info))
        return values;
      values.push_back(options.metric == "loss" ? info.update_loss
                                                : info.grad_norm);
    }
    return values;
  }

  /// Names of the nodes that read or write 16-bit values.
  Names findRounded() {
    llvm::Expected<mpc::report::Report> report =
        mpc::report::read(compile(asked).report);
    if (!report)
      throw Failure(Error, llvm::toString(report.takeError()));
    std::set<std::string> seen;
    Names names;
    for (const mpc::report::Function &function : report->functions)
      for (const mpc::report::Op &op : function.ops) {
        llvm::StringRef name = op.node;
        name.consume_back(mpc::kGradientSuffix);
        if (!op.isWide() && !name.empty() && name != mpc::kOptimizerNode &&
            seen.insert(name.str()).second)
          names.push_back(name.str());
      }
    return names;
  }

  const BisectCommand &options;
  const mpc::CompileOptions asked;
  ScratchFolder scratch;
  StopOnSignal signals;
  std::vector<double> reference;
  Names ops;
  unsigned count = 0;
};

} // namespace

/// "2 of 30 ops must stay in f32: 'fc1' and 'fc2'".
static std::string describe(const BisectCommand &options, const Names &kept,
                            size_t rounded) {
  if (kept.empty())
    return format("no op has to stay in f32 for the %s to be within %g",
                  options.metric.c_str(), options.tolerance);
  std::vector<std::string> quoted;
  for (const std::string &name : kept)
    quoted.push_back("'" + name + "'");
  return format("%s of %s must stay in f32: %s",
                formatCount(kept.size()).c_str(),
                formatCount(rounded, "op").c_str(), joinWords(quoted).c_str());
}

static int runBisect(const BisectCommand &options) {
  std::string place;
  if (!options.output.empty())
    place =
        resolveOutputPath(options.output, {{"the model", options.model},
                                           {"the data", options.data.path}});
  refusePackage(options.model, "mpc debug bisect");
  Bisection bisection(options);
  Names kept = bisection.run();
  PrecisionPolicy policy = options.arguments.policy();
  policy.precision = bisection.compiled().precision;
  for (const PrecisionRule &rule : rulesFor(kept))
    policy.rules.push_back(rule);
  if (!place.empty())
    writeFile(place, printPolicy(policy));
  if (options.json) {
    nlohmann::ordered_json json;
    json["ops"] = kept;
    json["of"] = bisection.rounded().size();
    json["runs"] = bisection.runs();
    json["output"] = options.output;
    printJson(json);
    return Ok;
  }
  std::string verdict = describe(options, kept, bisection.rounded().size());
  if (options.output.empty()) {
    // Only the policy goes to stdout, which may be redirected to a file.
    std::fprintf(stderr, "mpc: %s\n", printable(verdict).c_str());
    printResult("%s", printPolicy(policy).c_str());
  } else {
    printResult("%s\npolicy: %s\n", verdict.c_str(), options.output.c_str());
  }
  return Ok;
}

Action mpc::tool::addDebug(CLI::App &app) {
  auto options = std::make_shared<BisectCommand>();
  CLI::App *debug =
      app.add_subcommand("debug", "Diagnose the effect of 16-bit precision");
  debug->require_subcommand(1);
  CLI::App *bisect = debug->add_subcommand(
      "bisect", "Find a minimal set of ops that must stay in f32");
  bisect->add_option("model", options->model, "ONNX file")
      ->option_text("MODEL.onnx")
      ->required();
  options->data
      .addTo(*bisect,
             "Data with an array for each model input, and labels or "
             "targets, as for mpc train",
             kRareDataGroup)
      ->required();
  bisect
      ->add_option("--output,-o", options->output,
                   "Policy file to write (default: print it)")
      ->option_text("POLICY.toml");
  bisect
      ->add_option("--metric", options->metric,
                   "Quantity to compare with f32: loss (default) or grad-norm")
      ->option_text("NAME")
      ->check(Choice({"loss", "grad-norm"}));
  bisect
      ->add_option("--tolerance", options->tolerance,
                   "Largest relative deviation per step (default: 0.01)")
      ->option_text("SHARE")
      ->check(Above(0));
  bisect->add_option("--steps", options->steps, "Steps per run (default: 20)")
      ->option_text("N")
      ->check(Whole(1));
  bisect
      ->add_option("--seed", options->seed,
                   "Seed for shuffling and dropout (default: 0)")
      ->option_text("N")
      ->check(Whole(0));
  options->arguments.addTo(*bisect);
  options->session.addTo(*bisect);
  bisect->add_flag("--json", options->json, "Print one JSON object");
  return [options] { return runBisect(*options); };
}
