//===- Compare.cpp - mpc compare ------------------------------------------===//
//
// Trains a model in two precisions on the same batches and names the op that
// introduces the largest error.
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Precision/Precisions.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/CompilerFiles.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Package.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/compare/CompareText.h"
#include "tools/mpc/options/Checks.h"
#include "tools/mpc/options/CompileOptions.h"
#include "tools/mpc/training/Progress.h"

#include "compiler/Import/Import.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <memory>

using namespace mpc::tool;

namespace {
struct CompareCommand {
  std::string model, against = "fp32", html;
  DataOptions data;
  CompareTolerances tolerances;
  Comparison::Settings settings;
  std::string tensors;
  bool json = false;
  CompileArguments arguments;
};
} // namespace

/// Options for the reference: the same model without the candidate's precision
/// rules, which may not apply to another precision.
static mpc::CompileOptions referenceOf(mpc::CompileOptions options,
                                       const std::string &precision) {
  options.precision = precision;
  options.policy.clear();
  options.opPrecision.clear();
  options.keepFp32.clear();
  options.forceLow.clear();
  static_cast<mpc::LossScalingOptions &>(options) = {};
  return options;
}

/// The output path of the HTML page, or "" for none.
static std::string findPage(const CompareCommand &options) {
  if (options.html.empty())
    return "";
  std::vector<InputFile> inputs = {{"the model", options.model},
                                   {"the data", options.data.path}};
  for (const std::string &file : mpc::externalFiles(options.model))
    inputs.push_back({"data of the model,", file});
  return resolveOutputPath(options.html, inputs);
}

static int runCompare(CompareCommand &options) {
  refusePackage(options.model, "mpc compare");
  mpc::CompileOptions asked = options.arguments.toOptions(options.model);
  if (mpc::precisionOf(asked.precision).wide == mpc::Format::F64)
    throw Failure(Usage, "only fp32, bf16 and fp16 can be compared; "
                         "--precision=fp64 is for gradient checks");
  if (asked.masterWeights != "fp32")
    throw Failure(
        Usage,
        "steps are compared from the same states, which --master-weights=" +
            asked.masterWeights + " rounds; leave it out");
  std::string page = findPage(options);
  options.settings.data = options.data;
  Comparison comparison(asked, referenceOf(asked, options.against),
                        options.settings);
  TensorChoice chosen(options.tensors, comparison);
  {
    Progress progress(stderr, /*quiet=*/false);
    auto begin = std::chrono::steady_clock::now();
    comparison.run([&](uint64_t done) {
      ProgressState state;
      state.title = options.model;
      state.done = done;
      state.total = options.settings.steps;
      state.trainLoss = comparison.steps.back().loss;
      std::chrono::duration<double> took =
          std::chrono::steady_clock::now() - begin;
      state.seconds = took.count();
      progress.update(state);
    });
  }
  CompareResult result(comparison, asked.precision, options.against,
                       options.tolerances);
  if (!page.empty())
    writeFile(page, result.page(options.model));
  if (options.json)
    printJson(result.json(options.model));
  else {
    result.print(chosen);
    if (!page.empty())
      printResult("page: %s\n", options.html.c_str());
    printResult("%s\n", result.verdict().c_str());
  }
  return result.holds() ? Ok : 1;
}

static void addTolerances(CLI::App &compare, CompareTolerances &tolerances) {
  compare
      .add_option(
          "--tolerance", tolerances.loss,
          "Largest relative deviation of the loss per step (default: 0.01)")
      ->option_text("SHARE")
      ->check(Above(0));
  compare
      .add_option("--tensor-tolerance", tolerances.tensor,
                  "Largest relative deviation of a tensor in one step from the "
                  "same states (default: 0.25)")
      ->option_text("SHARE")
      ->check(Above(0));
}

Action mpc::tool::addCompare(CLI::App &app) {
  auto options = std::make_shared<CompareCommand>();
  CLI::App *compare = app.add_subcommand(
      "compare", "Train in two precisions and report where they diverge");
  compare
      ->add_option(
          "model", options->model,
          "ONNX file; takes the options of mpc compile, such as --precision")
      ->option_text("MODEL.onnx")
      ->required();
  options->data
      .addTo(*compare,
             "Data with an array for each model input, and labels or "
             "targets, as for mpc train",
             kRareDataGroup)
      ->required();
  compare
      ->add_option("--against", options->against,
                   "Reference precision, without rules: fp32 (default), bf16, "
                   "fp16, or fp64 (interpreted op by op)")
      ->option_text("TYPE")
      ->check(Choice({"fp32", "bf16", "fp16", "fp64"}));
  compare
      ->add_option("--steps", options->settings.steps,
                   "Steps to train (default: 20)")
      ->option_text("N")
      ->check(Whole(1));
  addTolerances(*compare, options->tolerances);
  compare
      ->add_option(
          "--tensors", options->tensors,
          "Show matching nodes or op types instead of the largest errors")
      ->option_text("REGEX");
  compare
      ->add_option(
          "--html", options->html,
          "Write an HTML page with loss curves and the error of each op")
      ->option_text("OUT.html")
      ->check(NotEmpty());
  compare
      ->add_option("--seed", options->settings.seed,
                   "Seed for shuffling and dropout (default: 0)")
      ->option_text("N")
      ->check(Whole(0));
  options->settings.session.addTo(*compare);
  compare->add_flag("--json", options->json, "Print one JSON object");
  options->arguments.addHiddenTo(*compare);
  return [options] { return runCompare(*options); };
}
