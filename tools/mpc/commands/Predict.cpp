//===- Predict.cpp - mpc predict ------------------------------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/checkpoints/ClassProperty.h"
#include "tools/mpc/checkpoints/Weights.h"
#include "tools/mpc/data/Dataset.h"
#include "tools/mpc/metrics/LossFacts.h"
#include "tools/mpc/predictions/ClassScores.h"
#include "tools/mpc/predictions/PredictionFile.h"
#include "tools/mpc/predictions/Predictions.h"
#include "tools/mpc/training/Sampler.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>

using namespace mpc::tool;

namespace {
struct PredictCommand {
  std::string package, output, checkpoint;
  std::vector<std::string> outputs;
  bool softmax = false, argmax = false;
  DataOptions data;
  bool json = false;
  SessionSettings session;
  WeightsChoice weights;
};
} // namespace

/// Runs `predict` over all samples.
static Predictions predict(Session &session, const Program &program,
                           Dataset &data) {
  const uint64_t count = data.numSamples();
  const uint64_t batch = program.batchSizeFor("predict", count);
  data.setBatchSize(batch);
  Predictions predictions(
      program.outputs(program.entryFor("predict", batch).c_str()), batch,
      count);
  for (uint64_t first = 0; first < count; first += batch) {
    std::vector<uint64_t> indices = batchAt(first, batch, count);
    const std::vector<mpc_tensor_t> &inputs = data.gather(indices);
    data.prefetch(batchAt(first + batch, batch, count));
    const std::vector<mpc_tensor_t> &outputs = predictions.tensors();
    check(mpc_session_run(session.get(), "predict", inputs.data(),
                          inputs.size(), outputs.data(), outputs.size()),
          data.path);
    predictions.store(first, indices.size());
  }
  return predictions;
}

static void print(const PredictCommand &options, const mpc::npz::Arrays &arrays,
                  uint64_t samples) {
  if (!options.json) {
    std::string shapes;
    for (const mpc::npz::Array &array : arrays)
      shapes += (shapes.empty() ? "" : ", ") + array.name + " " +
                mpc::npz::typeText(array);
    printResult("%s: %s (%s)\n", options.output.c_str(),
                printable(shapes).c_str(),
                formatCount(samples, "sample").c_str());
    return;
  }
  nlohmann::ordered_json json;
  json["output"] = options.output;
  json["samples"] = samples;
  for (const mpc::npz::Array &array : arrays)
    json["arrays"][array.name] = array.shape;
  printJson(json);
}

/// The outputs that --outputs names; all without it.
static mpc::npz::Arrays selectOutputs(mpc::npz::Arrays all,
                                      const std::vector<std::string> &names) {
  if (names.empty())
    return all;
  mpc::npz::Arrays selected;
  for (const std::string &name : names)
    for (mpc::npz::Array &array : all)
      if (array.name == name)
        selected.push_back(array);
  return selected;
}

/// Throws unless the program has the outputs.
static void checkOutputs(const Program &program,
                         const std::vector<std::string> &names) {
  std::vector<std::string> known;
  for (const Binding &output : program.outputs("predict"))
    known.push_back(output.name);
  for (const std::string &name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Failure(Usage, "--outputs: the model has no output '" + name +
                               "'; it has " + joinWords(known));
}

/// The dimension of the classes of an output: what the loss says, or the last
/// one. None for outputs without scores of classes.
static std::optional<size_t> classAxis(const LossFacts &loss,
                                       const mpc::npz::Array &array) {
  if (array.shape.size() < 2)
    return std::nullopt;
  if (array.name == loss.output && loss.axis)
    return loss.axis;
  return array.shape.size() - 1;
}

/// Applies --softmax and --argmax. The classes that the data named in training
/// become those of the output that was compared with them.
static ClassesOfArrays takeClasses(const PredictCommand &options,
                                   const Program &program,
                                   const ClassNames &known,
                                   mpc::npz::Arrays &arrays) {
  ClassesOfArrays classes;
  if (!options.softmax && !options.argmax)
    return classes;
  const LossFacts loss(program);
  bool isAny = false;
  for (mpc::npz::Array &array : arrays) {
    std::optional<size_t> axis = classAxis(loss, array);
    if (!axis)
      continue;
    isAny = true;
    if (options.softmax)
      applySoftmax(array, *axis);
    if (!options.argmax)
      continue;
    applyArgmax(array, *axis);
    auto names = known.find(loss.input);
    if (array.name == loss.output && names != known.end())
      classes[array.name] = names->second;
  }
  if (!isAny)
    throw Failure(Usage,
                  std::string(options.softmax ? "--softmax" : "--argmax") +
                      ": no output has a dimension of classes");
  return classes;
}

static int runPredict(const PredictCommand &options) {
  std::string place =
      resolveOutputPath(options.output, {{"the package", options.package},
                                         {"the data", options.data.path}});
  checkPredictionFile(options.output);
  Program program(options.package);
  if (!program.has("predict"))
    throw Failure(Usage, program.path + ": the program has no entry point "
                                        "'predict'");
  checkOutputs(program, options.outputs);
  Session session(program, options.session);
  bool hasWeights = program.has("step") || program.has("accumulate") ||
                    program.has("forward");
  if (options.checkpoint.empty() && hasWeights)
    note("no --checkpoint given: using the initial weights");
  if (!options.checkpoint.empty())
    session.load(options.checkpoint);
  options.weights.apply(session, program);
  DataOptions from = options.data;
  from.classes = rememberedClasses(session);
  Dataset data(from, program.inputs("predict"));

  mpc::npz::Arrays arrays =
      selectOutputs(predict(session, program, data).take(), options.outputs);
  ClassesOfArrays classes = takeClasses(options, program, from.classes, arrays);
  writePredictions(options.output, place, arrays, classes);
  print(options, arrays, data.numSamples());
  return Ok;
}

Action mpc::tool::addPredict(CLI::App &app) {
  auto options = std::make_shared<PredictCommand>();
  CLI::App *predict =
      app.add_subcommand("predict", "Write the model's outputs for given data");
  predict->add_option("package", options->package, "Compiled model (.mpc)")
      ->option_text("MODEL.mpc")
      ->required();
  options->data
      .addTo(*predict,
             "Data with an array for each model input, as for mpc train")
      ->required();
  predict
      ->add_option("--output,-o", options->output,
                   "File to write: .npz, .npy, .csv, .jsonl or .parquet; its "
                   "arrays or columns are named like the outputs")
      ->option_text("OUT.npz")
      ->required();
  predict
      ->add_option("--outputs", options->outputs,
                   "Outputs to write, separated by commas (default: all)")
      ->delimiter(',')
      ->type_size(1)
      ->allow_extra_args(false)
      ->option_text("NAME,...");
  predict->add_flag("--softmax", options->softmax,
                    "Write probabilities instead of scores of classes");
  predict->add_flag("--argmax", options->argmax,
                    "Write the class with the highest score; in text, by the "
                    "name that the training data has for it");
  predict
      ->add_option("--checkpoint", options->checkpoint,
                   "Weights: a checkpoint, or a folder of checkpoints")
      ->option_text("PATH");
  options->weights.addTo(*predict);
  options->session.addTo(*predict);
  predict->add_flag("--json", options->json, "Print one JSON object");
  return [options] { return runPredict(*options); };
}
