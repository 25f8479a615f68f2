//===- Compile.cpp - mpc compile ------------------------------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/base/CompilerFiles.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Package.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/commands/ClassWeights.h"
#include "tools/mpc/data/Dataset.h"
#include "tools/mpc/data/LossFromData.h"
#include "tools/mpc/data/sources/OpenData.h"
#include "tools/mpc/options/Checks.h"
#include "tools/mpc/options/CompileOptions.h"

#include "compiler/Import/Import.h"
#include "passes/Driver/Examine.h"
#include "passes/Driver/Pipeline.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <malloc.h>
#include <memory>

using namespace mpc::tool;

namespace {
struct CompileCommand {
  std::string model, output, dumpStages, stopAfter;
  DataOptions data;
  bool json = false, printPolicy = false;
  CompileArguments arguments;
};
} // namespace

static void print(const CompileCommand &options,
                  const mpc::CompileOptions &compiled,
                  const mpc::CompileResult &result, double seconds) {
  if (options.json) {
    nlohmann::ordered_json json;
    json["output"] = compiled.output;
    json["bytes"] = result.packageBytes;
    json["seconds"] = seconds;
    json["precision"] = result.precision;
    json["trained"] = result.trainedElements;
    json["frozen"] = result.frozenElements;
    json["notes"] = result.notes;
    printJson(json);
    return;
  }
  if (compiled.output.empty()) {
    printResult(
        "%s: stopped after stage '%s' as asked; no package is written\n",
        compiled.model.c_str(), compiled.stopAfter.c_str());
    return;
  }
  std::string parameters;
  if (result.frozenElements > 0)
    parameters = formatCount(result.frozenElements) + " frozen, ";
  if (!result.predictsOnly)
    parameters = formatCount(result.trainedElements, "parameter") +
                 " trained, " + parameters;
  printResult(
      "%s: %s, %s, %s, %scompiled in %s\n", compiled.output.c_str(),
      formatBytes(result.packageBytes).c_str(), result.precision.c_str(),
      result.predictsOnly ? "prediction only" : result.optimizer.c_str(),
      parameters.c_str(), formatDuration(seconds).c_str());
}

/// The path of `model` relative to the folder of `package`: `mpc export` finds
/// the model there if both are moved together.
static std::string relativePath(const std::string &model,
                                const std::string &package) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path folder = fs::absolute(package, error).parent_path();
  fs::path relative = fs::relative(model, folder, error);
  return error ? "" : relative.string();
}

/// The name of the file, or of the folder with training artifacts, without the
/// extension.
static std::string nameOfModel(const std::string &model) {
  std::filesystem::path path(model);
  if (!path.has_filename()) // It ends in a slash.
    path = path.parent_path();
  if (path == "." || path == "..")
    path = std::filesystem::absolute(path).lexically_normal().parent_path();
  return path.stem().string();
}

/// The place where the package is written.
static std::string findOutput(const std::string &output,
                              const std::string &model) {
  std::vector<InputFile> inputs = {{"the model", model}};
  std::string place = resolveOutputPath(output, inputs);
  // Finding the model's external files requires reading it; do that only if an
  // existing file that is not a package would be overwritten.
  if (!std::filesystem::exists(place) || isPackage(place))
    return place;
  for (const std::string &file : mpc::externalFiles(model))
    inputs.push_back({"data of the model,", file});
  return resolveOutputPath(output, inputs);
}

/// Chooses the loss and the batch size from the data, unless options set them.
/// Returns the loss if it was chosen here.
static std::optional<DataLoss> takeData(const DataOptions &options,
                                        mpc::CompileOptions &compile) {
  const std::string &path = options.path;
  auto refuseEmpty = [&](const DataSource &data) {
    for (const char *name : {"labels", "targets"}) {
      if (!data.has(name))
        continue;
      mpc::npz::ArrayType header = data.header(name);
      if (!header.shape.empty() && header.shape[0] == 0)
        throw Failure(Usage, path + ": array '" + name + "' has no samples");
    }
  };
  // Whether the model contains a loss, and which outputs it has, must be known
  // first.
  mpc::CompileOptions examined = compile;
  if (examined.classWeights == "balanced") // They depend on the loss.
    examined.classWeights.clear();
  mpc::Examination found = mpc::examineModel(examined);
  // Without outputs the data cannot be matched; the compilation will report
  // what is wrong with the model.
  if (found.outputs.empty() || found.predictsOnly)
    return std::nullopt;
  bool isOpen = compile.loss.empty() &&
                (found.loss.empty() ||
                 found.loss.find("' against input '") != std::string::npos);
  std::vector<OutputShape> outputs;
  for (const mpc::Examination::Output &output : found.outputs)
    outputs.push_back({output.name, output.shape});
  std::vector<std::string> notes; // They will come from checkData.
  std::unique_ptr<DataSource> data =
      selectArrays(openData(options), options, {}, notes);
  refuseEmpty(*data);
  std::optional<DataLoss> loss = findLossFor(*data, outputs);
  if (!loss && isOpen)
    note("cannot choose a loss from " + path + ": " +
         explainNoLoss(*data, outputs));
  if (!loss)
    return std::nullopt;
  if (isOpen) {
    compile.loss = loss->kind;
    if (outputs.size() > 1)
      compile.loss += ":" + loss->output;
    if (compile.labelAxis == 0)
      compile.labelAxis = loss->labelAxis;
  }
  constexpr uint64_t defaultBatch = 32;
  if (compile.batches.empty() && loss->samples > 0 &&
      loss->samples < defaultBatch) {
    compile.batches = {static_cast<int64_t>(loss->samples)};
    note("batch: " + std::to_string(loss->samples) + ", because " + path +
         " has no more samples; use --batch to change it");
  }
  return isOpen ? loss : std::nullopt;
}

/// Says in the note on the loss, "loss: mse of output 'y' (as asked)", that it
/// was chosen from the data.
static void explainLoss(const DataLoss &loss, const std::string &path,
                        mpc::CompileResult &result) {
  const std::string asked = "as asked", axis = ", " + asked;
  for (std::string &text : result.notes) {
    size_t at = text.find("(" + asked);
    if (text.rfind("loss: ", 0) != 0 || at == std::string::npos)
      continue;
    if (loss.labelAxis != 0)
      if (size_t also = text.find(axis, at); also != std::string::npos)
        text.erase(also, axis.size());
    text.replace(at + 1, asked.size(), "chosen from " + path + ": " + loss.why);
    const std::string change = "; use option 'label-axis' to change it";
    if (size_t also = text.find(change); also != std::string::npos)
      text.replace(also, change.size(),
                   "; use --loss and --label-axis to change it");
    else
      text.insert(text.size() - 1, "; use --loss to change it");
    return;
  }
  // The compilation failed before that note.
  note("loss: " + loss.options() + ", because in " + path + " " + loss.why);
}

/// Checks that all of the data, including its values, can be used for training.
/// Skips packages that this machine cannot load. `loss` is the loss that was
/// chosen from the data, if any.
static void checkData(const DataOptions &data, const std::string &package,
                      const std::optional<DataLoss> &loss) {
  try {
    Program program(package);
    if (!program.has("step") && !program.has("accumulate"))
      return;
    Dataset(data, program.inputs(program.stepEntry()));
  } catch (const Failure &failure) {
    if (failure.exitCode == Damaged)
      return;
    if (failure.exitCode != Usage || !loss)
      throw;
    throw Failure(Usage, withAdvice(failure.what(), loss->remedy()));
  }
}

/// Makes the allocator return the memory of weights to the system when they are
/// freed. By default it keeps blocks of up to 32 MiB.
static void returnFreedMemory() {
#ifdef M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

static int runCompile(const CompileCommand &options) {
  refusePackage(options.model);
  returnFreedMemory();
  mpc::CompileOptions compile = options.arguments.toOptions(options.model);
  if (options.printPolicy) {
    std::string policy = printPolicy(options.arguments.policy());
    if (options.output.empty())
      printResult("%s", policy.c_str());
    else
      writeFile(
          resolveOutputPath(options.output, {{"the model", options.model}}),
          policy);
    return Ok;
  }
  compile.dumpStages = options.dumpStages;
  compile.stopAfter = options.stopAfter;
  if (isCheckpoint(compile.dumpStages))
    throw Failure(Usage, "--dump-stages='" + compile.dumpStages +
                             "' is a checkpoint; choose another folder");
  std::string output = options.output;
  // Like other compilers, write the result to the current folder.
  if (output.empty())
    output = nameOfModel(options.model) + ".mpc";
  if (!compile.stopAfter.empty())
    output.clear();
  if (!output.empty()) {
    compile.modelPath = relativePath(compile.model, output);
    compile.output = findOutput(output, compile.model);
  }

  auto begin = std::chrono::steady_clock::now();
  std::optional<DataLoss> loss;
  if (!options.data.path.empty())
    loss = takeData(options.data, compile);
  balanceClasses(options.data, compile);
  mpc::CompileResult result = mpc::compile(compile);
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  if (loss)
    explainLoss(*loss, options.data.path, result);
  options.arguments.printMessages(result);
  if (!options.data.path.empty() && !failed(result.failure) && !output.empty())
    checkData(options.data, compile.output, loss);
  compile.output = output;
  if (!failed(result.failure))
    print(options, compile, result, seconds);
  return exitCodeOf(result.failure);
}

Action mpc::tool::addCompile(CLI::App &app) {
  auto options = std::make_shared<CompileCommand>();
  CLI::App *compile = app.add_subcommand(
      "compile", "Compile an ONNX model into a training program");
  compile
      ->add_option("model", options->model,
                   "ONNX file, or folder of training artifacts")
      ->option_text("MODEL.onnx")
      ->required();
  compile
      ->add_option("--output,-o", options->output,
                   "Package to write (default: ./MODEL.mpc)")
      ->option_text("OUT.mpc")
      ->check(NotEmpty());
  options->data.addTo(*compile,
                      "Training data: determines the loss, and is checked",
                      kRareDataGroup);
  options->arguments.addTo(*compile);
  compile
      ->add_option("--dump-stages", options->dumpStages,
                   "Write the IR after each stage")
      ->option_text("DIR")
      ->group("Output");
  compile
      ->add_option("--stop-after", options->stopAfter,
                   "Stop after a stage without writing a package")
      ->option_text("STAGE")
      ->check(Choice(mpc::stageNames()))
      ->group("Output");
  compile
      ->add_flag(
          "--print-policy", options->printPolicy,
          "Print the precision rules, or write them to the file given by "
          "-o, without compiling")
      ->group("More precision options");
  compile->add_flag("--json", options->json, "Print one JSON object")
      ->group("Output");
  return [options] { return runCompile(*options); };
}
