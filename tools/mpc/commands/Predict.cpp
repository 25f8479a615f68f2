//===- Predict.cpp - mpc predict ------------------------------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/checkpoints/ClassProperty.h"
#include "tools/mpc/checkpoints/Weights.h"
#include "tools/mpc/data/Dataset.h"
#include "tools/mpc/data/Predictions.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <numeric>

using namespace mpc::tool;

namespace {
struct PredictCommand {
  std::string package, output, checkpoint;
  DataOptions data;
  bool json = false;
  SessionSettings session;
  WeightsChoice weights;
};
} // namespace

/// Runs `predict` over all samples.
static Predictions predict(Session &session, const Program &program,
                           Dataset &data) {
  uint64_t batch = data.batchSize(), count = data.numSamples();
  Predictions predictions(program.outputs("predict"), batch, count);
  std::vector<uint64_t> indices;
  for (uint64_t first = 0; first < count; first += batch) {
    indices.resize(std::min(batch, count - first));
    std::iota(indices.begin(), indices.end(), first);
    const std::vector<mpc_tensor_t> &inputs = data.gather(indices);
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

/// Throws unless the output is called .npz, which is the format that is
/// written.
static void requireNpz(const std::string &output) {
  std::string extension = std::filesystem::path(output).extension().string();
  if (!extension.empty() && extension != ".npz")
    throw Failure(Usage, "--output='" + output +
                             "': predictions are written as .npz, found " +
                             extension + "; choose a name that ends in .npz");
}

static int runPredict(const PredictCommand &options) {
  std::string place =
      resolveOutputPath(options.output, {{"the package", options.package},
                                         {"the data", options.data.path}});
  requireNpz(options.output);
  Program program(options.package);
  if (!program.has("predict"))
    throw Failure(Usage, program.path + ": the program has no entry point "
                                        "'predict'");
  Session session(program, options.session);
  bool hasWeights = program.has("step") || program.has("accumulate");
  if (options.checkpoint.empty() && hasWeights)
    note("no --checkpoint given: using the initial weights");
  if (!options.checkpoint.empty())
    session.load(options.checkpoint);
  options.weights.apply(session, program);
  DataOptions from = options.data;
  from.classes = rememberedClasses(session);
  Dataset data(from, program.inputs("predict"));

  mpc::npz::Arrays arrays = predict(session, program, data).take();
  try {
    mpc::npz::write(place, arrays);
  } catch (const mpc::npz::FileError &error) {
    throw Failure(InputOutput, error.what());
  }
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
                   "File to write; its arrays are named like the outputs")
      ->option_text("OUT.npz")
      ->required();
  predict
      ->add_option("--checkpoint", options->checkpoint,
                   "Weights: a checkpoint, or a folder of checkpoints")
      ->option_text("PATH");
  options->weights.addTo(*predict);
  options->session.addTo(*predict);
  predict->add_flag("--json", options->json, "Print one JSON object");
  return [options] { return runPredict(*options); };
}
