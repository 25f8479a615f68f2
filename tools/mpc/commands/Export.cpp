//===- Export.cpp - mpc export --------------------------------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/base/CompilerFiles.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Package.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/checkpoints/MasterWeights.h"
#include "tools/mpc/checkpoints/StateDict.h"
#include "tools/mpc/checkpoints/Weights.h"

#include "compiler/Export/Export.h"
#include "compiler/Import/Import.h"
#include "kernels/devices.h"
#include "passes/Options/PackageText.h"
#include "passes/Weights/WeightValues.h"
#include "runtime/src/program/roles.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>

using namespace mpc::tool;
using mpc::runtime::role_of;

namespace {
struct ExportCommand {
  std::string package, checkpoint, model, output, like;
  bool json = false, training = false;
  WeightsChoice weights;
};

/// Values by name, as exportTrained borrows them.
using Values = std::map<std::string, std::vector<float>>;
using Counters = std::map<std::string, int64_t>;
} // namespace

/// The ONNX file the package was compiled from: the path that the user gives,
/// the path at compile time, next to the package, or in the current folder.
static std::string findModel(const ExportCommand &options,
                             const Package &package) {
  if (!options.model.empty())
    return options.model;
  namespace fs = std::filesystem;
  std::string name =
      package.root().model() ? package.root().model()->str() : "";
  fs::path folder = fs::path(options.package).parent_path();
  std::vector<fs::path> candidates;
  if (package.root().options())
    for (const mpc::program::Option *option : *package.root().options())
      if (option->name()->str() == "model_path" && option->value()->size() > 0)
        candidates.push_back(folder / option->value()->str());
  if (!name.empty()) {
    candidates.push_back(folder / name);
    candidates.push_back(name);
  }
  std::error_code ignored;
  for (const fs::path &candidate : candidates)
    if (fs::exists(candidate, ignored))
      return candidate.string();
  throw Failure(Usage,
                "cannot find '" + name + "', which '" + options.package +
                    "' was compiled from; specify its path with --model");
}

/// Whether a state is part of the model. If the training step was imported,
/// that includes the states of the step.
static bool isOfModel(const mpc::program::State &state, bool hasImportedStep) {
  using mpc::program::StateKind;
  using mpc::program::StateRole;
  switch (state.kind()) {
  case StateKind::Parameter:
  case StateKind::Statistic:
    return true;
  case StateKind::Optimizer:
  case StateKind::Control:
    // States with other roles were added by the compiler.
    return hasImportedStep && (role_of(state) == StateRole::Optimizer ||
                               role_of(state) == StateRole::Control);
  default:
    return false;
  }
}

/// Names of the states that training changes and that are part of the model.
static std::vector<std::string> trainedNames(const Package &package,
                                             bool hasImportedStep) {
  std::vector<std::string> names;
  for (const mpc::program::State *state : *package.root().states()) {
    if (!isOfModel(*state, hasImportedStep))
      continue;
    if (!state->slots() || state->slots()->size() == 0) {
      names.push_back(state->name()->str());
      continue;
    }
    for (const mpc::program::Slot *slot : *state->slots())
      names.push_back(slot->name()->str());
  }
  return names;
}

static bool hasCodeFor(const Package &package, const char *device) {
  for (const mpc::program::Variant *variant : *package.root().variants())
    if (variant->device()->str() == device)
      return true;
  return false;
}

/// Reads f32 states and bf16 weights, and integer states that are a single
/// number.
static Values readValues(const Program &program, const Session &session,
                         const std::vector<std::string> &names,
                         const WeightsChoice &weights, Counters &counters) {
  std::map<std::string, mpc_state_info_t> infos;
  for (const mpc_state_info_t &info : program.states())
    infos[info.name] = info;

  Values values;
  for (const std::string &name : names) {
    auto found = infos.find(name);
    if (found != infos.end() && found->second.dtype == MPC_DTYPE_I64 &&
        found->second.rank == 0) {
      mpc_tensor_t tensor = {sizeof(tensor),      MPC_DTYPE_I64,   0,
                             found->second.shape, &counters[name], {}};
      check(mpc_session_read_state(session.get(), name.c_str(), &tensor), name);
      continue;
    }
    if (found == infos.end() ||
        (found->second.dtype != MPC_DTYPE_F32 && !isBf16Weight(found->second)))
      throw Failure(Damaged, program.path + ": state '" + name +
                                 "' is missing or not f32");
    std::string source = weights.sourceOf(session, program, found->second);
    values[name] = readFloats(session, program, infos.at(source));
  }
  return values;
}

/// Adds the constants that took the values of `mpc compile --init`; the model
/// has others.
static void addInitConstants(const Program &program, const Session &session,
                             Values &values) {
  std::istringstream lines(program.option("init-constants"));
  std::vector<std::string> rounded;
  for (std::string name; std::getline(lines, name);) {
    const auto &states = program.states();
    auto info = std::find_if(
        states.begin(), states.end(),
        [&](const mpc_state_info_t &state) { return state.name == name; });
    if (info == states.end())
      throw Failure(Usage, "'" + name + "' has the values of '" +
                               program.option("init") +
                               "', which the package does not keep; export "
                               "the weights to a .safetensors file");
    std::vector<int64_t> shape(info->shape, info->shape + info->rank);
    uint64_t count = 1;
    for (int64_t extent : shape)
      count *= extent;
    std::vector<char> bytes(count * mpc_dtype_size(info->dtype));
    mpc_tensor_t tensor = {sizeof(tensor), info->dtype,  info->rank,
                           info->shape,    bytes.data(), {}};
    check(mpc_session_read_state(session.get(), name.c_str(), &tensor), name);
    for (uint64_t i = 0; i < count; ++i)
      values[name].push_back(
          static_cast<float>(mpc::numberAt(info->dtype, bytes.data(), i)));
    if (mpc_dtype_size(info->dtype) < sizeof(float))
      rounded.push_back(name);
  }
  if (!rounded.empty())
    note("frozen weights are written as the program has them, rounded to 16 "
         "bit: " +
         listNames(rounded));
}

/// The place where the model is written. A large model has a second file next
/// to it.
static std::string findOutput(const ExportCommand &options,
                              const std::string &model) {
  std::vector<InputFile> inputs = {{"the package", options.package},
                                   {"the model", model}};
  for (const std::string &file : mpc::externalFiles(model))
    inputs.push_back({"data of the model,", file});
  std::string place = resolveOutputPath(options.output, inputs);
  (void)resolveOutputPath(place + ".data", inputs);
  return place;
}

/// The value of a numeric option of the package.
static double number(const Program &program, const char *name) {
  return std::strtod(program.option(name).c_str(), nullptr);
}

/// Describes how the program trains, and its optimizer state. `moments` holds
/// data that the description borrows.
static mpc::TrainingDescription
describe(const Program &program, const Session &session, const Package &package,
         const WeightsChoice &weights, Values &moments) {
  mpc::TrainingDescription training;
  std::vector<std::string> parts;
  std::istringstream lines(program.option("loss-parts"));
  for (std::string line; std::getline(lines, line);)
    parts.push_back(line);
  parts.resize(4);
  training.lossKind = parts[0];
  training.lossOutput = parts[1];
  training.target.name = parts[2];
  training.classAxis = parts[3];
  for (const Binding &input : program.inputs(program.stepEntry()))
    if (input.name == parts[2]) {
      training.target.shape = input.shape;
      training.targetIsBatched = input.batchDim == 0;
    }
  for (const Binding &output : program.outputs("predict"))
    if (output.name == parts[1] && !parts[3].empty())
      training.joinsRows =
          output.shape.size() != training.target.shape.size() + 1;
  training.optimizer = program.option("optimizer");
  training.rate = session.readScalar(program.stateOf(MPC_STATE_LEARNING_RATE));
  training.weightDecay = number(program, "weight-decay");
  training.beta1 = number(program, "beta1");
  training.beta2 = number(program, "beta2");
  training.epsilon = number(program, "epsilon");
  training.momentum = number(program, "momentum");
  training.clipNorm = number(program, "clip-norm");
  training.nesterov = program.option("nesterov") == "yes";

  std::vector<std::string> names;
  for (const mpc::program::State *state : *package.root().states()) {
    using mpc::program::StateKind;
    using mpc::program::StateRole;
    const StateRole role = role_of(*state);
    bool isMoment =
        (role == StateRole::FirstMoment || role == StateRole::SecondMoment ||
         role == StateRole::Optimizer) &&
        state->slots();
    if (state->kind() == StateKind::Statistic)
      training.statistics.insert(state->name()->str());
    if ((state->kind() != StateKind::Parameter && !isMoment) || !state->slots())
      continue;
    for (const mpc::program::Slot *slot : *state->slots()) {
      std::vector<int64_t> shape;
      if (slot->shape())
        shape.assign(slot->shape()->begin(), slot->shape()->end());
      if (isMoment)
        names.push_back(state->name()->str() + "/" + slot->name()->str());
      else
        training.parameters.push_back({slot->name()->str(), shape});
    }
  }
  Counters counters;
  const char *counter = program.stateOf(MPC_STATE_STEP_COUNT);
  names.push_back(counter);
  moments = readValues(program, session, names, weights, counters);
  for (const auto &[name, value] : moments)
    training.moments[mpc::runtime::usual_name(name)] = value;
  training.step = counters[counter];
  return training;
}

/// Whether the program was compiled with the default of an option. Old packages
/// may lack the option.
static bool isDefault(const Program &program, const mpc::OptionRow &row) {
  std::string value = program.option(row.name);
  mpc::CompileOptions defaults;
  defaults.optimizer = program.option("optimizer");
  return value.empty() || value == packageText(row, defaults);
}

static void checkTraining(const Program &program) {
  auto refuse = [](const std::string &why) {
    throw Failure(Usage, "--training does not apply: " + why);
  };
  if (program.hasImportedStep())
    refuse("the model already contains its training step, which continues from "
           "the exported state");
  std::string optimizer = program.option("optimizer");
  if (optimizer != "sgd" && optimizer != "momentum" && optimizer != "adam" &&
      optimizer != "adamw")
    refuse("ONNX cannot express the optimizer " + optimizer);
  if (program.option("loss-parts").empty())
    refuse(
        "the package does not record how it trains; compile the model again");
  std::string loss = program.option("loss-parts");
  loss = loss.substr(0, loss.find('\n'));
  const std::vector<std::string> known = {"output", "softmax-cross-entropy",
                                          "mse", "l1", "bce-with-logits"};
  if (std::find(known.begin(), known.end(), loss) == known.end())
    refuse("ONNX cannot express the loss " + program.option("loss"));
  for (const mpc::OptionRow &row : mpc::optionRows())
    if (row.exported == mpc::Export::Refused && !isDefault(program, row))
      refuse("ONNX cannot express " + optionName(row.id));
  if (program.microBatches() > 1)
    refuse("it was compiled with --accumulate, but an ONNX training step takes "
           "one batch");
}

/// Only states are needed, so prefers a host to a GPU.
static SessionSettings hostSettings(const Package &package) {
  SessionSettings settings;
  for (const mpc::kernels::DeviceRow &device : mpc::kernels::kDevices)
    if (device.device_class == mpc::kernels::DeviceClass::Host &&
        settings.device == "auto" && hasCodeFor(package, device.name.data()))
      settings.device = device.name.data();
  return settings;
}

/// The parameters and statistics of a session.
static std::vector<NamedTensor> readTensors(const Program &program,
                                            const Session &session,
                                            const Package &package,
                                            const WeightsChoice &weights) {
  Counters counters;
  Values values = readValues(program, session, trainedNames(package, false),
                             weights, counters);
  auto bytesOf = [](const void *data, size_t size) {
    const char *begin = static_cast<const char *>(data);
    return std::vector<char>(begin, begin + size);
  };
  std::vector<NamedTensor> tensors;
  for (const mpc_state_info_t &info : program.states()) {
    std::vector<int64_t> shape(info.shape, info.shape + info.rank);
    if (auto value = values.find(info.name); value != values.end())
      tensors.push_back({info.name, MPC_DTYPE_F32, shape,
                         bytesOf(value->second.data(),
                                 value->second.size() * sizeof(float))});
    else if (auto count = counters.find(info.name); count != counters.end())
      tensors.push_back({info.name, MPC_DTYPE_I64, shape,
                         bytesOf(&count->second, sizeof(count->second))});
  }
  return tensors;
}

/// Writes a safetensors file instead of a model.
static int exportStateDict(const ExportCommand &options) {
  std::vector<InputFile> inputs = {{"the package", options.package}};
  if (!options.like.empty())
    inputs.push_back({"the state_dict", options.like});
  std::string place = resolveOutputPath(options.output, inputs);
  Package package(options.package);
  Program program(options.package);
  Session session(program, hostSettings(package));
  std::string loaded = session.load(options.checkpoint);
  options.weights.apply(session, program);
  std::vector<NamedTensor> tensors =
      readTensors(program, session, package, options.weights);
  std::vector<std::string> notes;
  if (!options.like.empty())
    tensors = completeStateDict(std::move(tensors), options.like, notes);
  for (const std::string &text : notes)
    note(text);
  writeFile(place, formatSafetensors(tensors));
  if (options.json) {
    nlohmann::ordered_json json;
    json["output"] = options.output;
    json["checkpoint"] = loaded;
    json["tensors"] = tensors.size();
    printJson(json);
    return Ok;
  }
  printResult("%s: %s from '%s'\n", options.output.c_str(),
              formatCount(tensors.size(), "tensor").c_str(), loaded.c_str());
  return Ok;
}

static int runExport(const ExportCommand &options) {
  if (std::filesystem::path(options.output).extension() == ".safetensors") {
    if (options.training || !options.model.empty())
      throw Failure(Usage,
                    std::string(options.training ? "--training" : "--model") +
                        " applies to .onnx files, not to '" + options.output +
                        "'");
    return exportStateDict(options);
  }
  if (!options.like.empty())
    throw Failure(Usage, "--like applies to .safetensors files, not to '" +
                             options.output + "'");
  Package package(options.package);
  std::string model = findModel(options, package);
  std::string place = findOutput(options, model);
  Program program(options.package);
  if (options.training)
    checkTraining(program);
  Session session(program, hostSettings(package));
  std::string loaded = session.load(options.checkpoint);
  options.weights.apply(session, program);

  mpc::ExportOptions how;
  bool hasImportedStep = program.hasImportedStep();
  Values values =
      readValues(program, session, trainedNames(package, hasImportedStep),
                 options.weights, how.counters);
  addInitConstants(program, session, values);
  mpc::TrainedStates states;
  for (const auto &[name, value] : values)
    states[name] = value;
  mpc::TrainingDescription training;
  Values moments;
  if (options.training) {
    training = describe(program, session, package, options.weights, moments);
    how.training = &training;
  }
  try {
    check(mpc::exportTrained(model, states, place, how));
  } catch (const Failure &failure) {
    // The model may be another one than the package was compiled from.
    if (options.model.empty() || failure.exitCode != InvalidModel)
      throw;
    throw Failure(Usage, "'" + model + "' does not fit '" + options.package +
                             "': " + failure.what() +
                             "; give the model that it was compiled from");
  }

  if (options.json) {
    nlohmann::ordered_json json;
    json["output"] = options.output;
    json["model"] = model;
    json["checkpoint"] = loaded;
    json["tensors"] = values.size();
    printJson(json);
    return Ok;
  }
  printResult("%s: '%s' with %s from '%s'\n", options.output.c_str(),
              model.c_str(), formatCount(values.size(), "tensor").c_str(),
              loaded.c_str());
  return Ok;
}

Action mpc::tool::addExport(CLI::App &app) {
  auto options = std::make_shared<ExportCommand>();
  CLI::App *command = app.add_subcommand(
      "export", "Write trained weights back into the ONNX model, or to a "
                "safetensors file");
  command->add_option("package", options->package, "Compiled model (.mpc)")
      ->option_text("MODEL.mpc")
      ->required();
  command
      ->add_option("--checkpoint", options->checkpoint,
                   "Weights: a checkpoint, or a folder of checkpoints")
      ->option_text("PATH")
      ->required();
  command
      ->add_option("--output,-o", options->output,
                   "ONNX or .safetensors file to write")
      ->option_text("OUT.onnx")
      ->required();
  command
      ->add_option("--like", options->like,
                   "The state_dict of the model as a .safetensors file: its "
                   "tied weights and buffers are added to those that are "
                   "written, for PyTorch's load_state_dict")
      ->option_text("FILE");
  command
      ->add_option("--model", options->model,
                   "Path of the compiled ONNX model, if it has moved")
      ->option_text("MODEL.onnx");
  options->weights.addTo(*command);
  command->add_flag("--training", options->training,
                    "Also write the training step (training_info)");
  command->add_flag("--json", options->json, "Print one JSON object");
  return [options] { return runExport(*options); };
}
