//===- Profile.cpp - mpc profile ------------------------------------------===//
//
// Trains for some steps and writes statistics of each tensor, which the program
// computes itself (entry point `observe`):
//
//   { "version": 1, "model": "mlp.onnx", "precision": "fp32", "steps": 20,
//     "exponents": { "first": -44, "count": 64 },
//     "tensors": { "fc1": { "kind": "forward", "op": "train.matmul",
//       "type": "Gemm", "dtype": "f32", "shape": [ 64, 256 ],
//       "count": 327680, "nans": 0, "infinities": 0, "zeros": 12,
//       "largest": 3.5, "smallest": 1e-05, "exponents": [ 0, ... ],
//       "sensitivity": { "bf16": 1e-08, "f16": 2e-10, "e4m3": 3e-06 } } } }
//
// Tensors are in program order under the name of their node, input or state. If
// several share a name, all but the first get the suffix "#1", "#2" and so on.
// `exponents` is a histogram of floor(log2(magnitude)), starting at `first`;
// the first and last bins include everything beyond. A sensitivity is the mean
// over the steps of the square of the change of the loss, to first order, if
// the tensor is rounded; tensors without a gradient have none.
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Precision/Formats.h"
#include "kernels/observation.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Package.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/Dataset.h"
#include "tools/mpc/options/Checks.h"
#include "tools/mpc/training/Sampler.h"
#include "tools/mpc/training/setup/BatchOption.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>

using namespace mpc::tool;
using namespace mpc::kernels;
using Json = nlohmann::ordered_json;

static constexpr bool roundsToProfiledFormats() {
  if (mpc::kProfiledFormats.size() != kRoundingFormatCount)
    return false;
  for (size_t i = 0; i < mpc::kProfiledFormats.size(); ++i) {
    const mpc::FormatFacts &row = mpc::factsOf(mpc::kProfiledFormats[i]);
    const RoundingFormat &format = kRoundingFormats[i];
    if (row.name != format.name || row.largest != format.most ||
        row.digits != format.digits || row.leastExponent != format.least)
      return false;
  }
  return true;
}
static_assert(roundsToProfiledFormats(),
              "the kernel `rounding` must round to the formats of profiles");

namespace {

struct ProfileCommand {
  std::string package, output, checkpoint;
  DataOptions data;
  BatchOption batch;
  uint64_t steps = 20, seed = 0;
  SessionSettings session;
};

/// The statistics of one tensor, accumulated over the steps.
class Tensor {
public:
  explicit Tensor(const mpc_observation_info_t &info) : info(info) {}

  void add(const double *row) {
    for (int64_t i = 0; i < kObservationWidth; ++i)
      if (i != kFirstNonFinite && i != kLargest && i != kSmallest)
        sums[i] += row[i];
    largest = std::max(largest, row[kLargest]);
    if (smallest == 0 || (row[kSmallest] != 0 && row[kSmallest] < smallest))
      smallest = row[kSmallest];
  }
  void addRounding(const double *row) {
    for (size_t i = 0; i < squares.size(); ++i)
      squares[i] += row[i] * row[i];
  }

  Json toJson(uint64_t steps) const {
    static const char *const kinds[] = {"input",   "state",    "constant",
                                        "forward", "backward", "update"};
    Json json;
    json["kind"] = kinds[info.kind];
    if (*info.op) {
      json["op"] = info.op;
      json["type"] = printable(info.type);
    }
    json["dtype"] = mpc_dtype_name(info.dtype);
    json["shape"] = std::vector<int64_t>(info.shape, info.shape + info.rank);
    uint64_t count = steps;
    for (uint32_t i = 0; i < info.rank; ++i)
      count *= static_cast<uint64_t>(info.shape[i]);
    json["count"] = count;
    json["nans"] = whole(kNans);
    json["infinities"] = whole(kInfinities);
    json["zeros"] = whole(kZeros);
    json["largest"] = largest;
    json["smallest"] = smallest;
    for (int i = 0; i < kExponentCount; ++i)
      json["exponents"].push_back(whole(kExponents + i));
    if (info.rounding >= 0)
      for (size_t i = 0; i < squares.size(); ++i)
        json["sensitivity"]
            [std::string(mpc::factsOf(mpc::kProfiledFormats[i]).name)] =
                squares[i] / steps;
    return json;
  }

  const mpc_observation_info_t info;

private:
  uint64_t whole(int64_t field) const {
    return static_cast<uint64_t>(sums[field]);
  }

  double sums[kObservationWidth] = {};
  double largest = 0, smallest = 0;
  /// Indexed like kProfiledFormats.
  std::array<double, mpc::kProfiledFormats.size()> squares = {};
};

/// Runs `observe` and accumulates its tables.
class Profile {
public:
  /// `entry` is `observe` for the size of the batches. `package` must outlive
  /// this.
  Profile(const Program &program, const Package &package,
          const std::string &entry)
      : program(program), entry(entry) {
    const auto &entries = *package.root().variants()->Get(0)->entries();
    for (const mpc::program::Entry *found : entries) {
      if (found->name()->string_view() != entry)
        continue;
      for (size_t i = 0; i < mpc_program_num_observations(program.get()); ++i) {
        mpc_observation_info_t info = {};
        info.struct_size = sizeof(info);
        check(mpc_program_observation(program.get(), i, &info));
        // That is the shape for the first batch size.
        const auto *shape = found->observations()->Get(i)->shape();
        info.shape = shape ? shape->data() : nullptr;
        tensors.emplace_back(info);
      }
    }
    for (const Binding &output : program.outputs(entry.c_str())) {
      tables.push_back(
          {output, std::vector<double>(output.shape[0] * output.shape[1])});
      (output.name == "roundings" ? roundings : rows) = tables.size() - 1;
    }
  }

  /// Adds the statistics of a step on this batch, without changing states.
  void observe(Session &session, const std::vector<mpc_tensor_t> &inputs) {
    std::vector<mpc_tensor_t> outputs;
    for (Table &table : tables) {
      mpc_tensor_t tensor = {};
      tensor.struct_size = sizeof(tensor);
      tensor.dtype = table.output.dtype;
      tensor.rank = static_cast<uint32_t>(table.output.shape.size());
      tensor.shape = table.output.shape.data();
      tensor.data = table.numbers.data();
      outputs.push_back(tensor);
    }
    check(mpc_session_run(session.get(), entry.c_str(), inputs.data(),
                          inputs.size(), outputs.data(), outputs.size()));
    for (size_t i = 0; i < tensors.size(); ++i) {
      Tensor &tensor = tensors[i];
      tensor.add(tables[rows].numbers.data() + i * kObservationWidth);
      if (tensor.info.rounding >= 0)
        tensor.addRounding(tables[roundings].numbers.data() +
                           tensor.info.rounding * kRoundingWidth);
    }
    ++steps;
  }

  Json toJson() const {
    Json json;
    json["version"] = 1;
    json["model"] = program.option("model_path");
    json["precision"] = program.option("precision");
    json["steps"] = steps;
    json["exponents"]["first"] = kLeastExponent;
    json["exponents"]["count"] = kExponentCount;
    std::map<std::string, int> uses;
    json["tensors"] = Json::object();
    for (const Tensor &tensor : tensors) {
      std::string name = printable(tensor.info.name);
      int before = uses[name]++;
      json["tensors"][before ? name + "#" + std::to_string(before) : name] =
          tensor.toJson(steps);
    }
    return json;
  }

  uint64_t numTensors() const { return tensors.size(); }

private:
  struct Table {
    Binding output;
    std::vector<double> numbers;
  };

  const Program &program;
  const std::string entry;
  std::vector<Tensor> tensors;
  std::vector<Table> tables;
  size_t rows = 0, roundings = 0;
  uint64_t steps = 0;
};

} // namespace

static int runProfile(const ProfileCommand &options) {
  std::string place =
      resolveOutputPath(options.output, {{"the package", options.package},
                                         {"the data", options.data.path}});
  Program program(options.package);
  options.batch.checkProgram(program);
  const std::string entry = options.batch.entryOf(program, program.stepEntry());
  if (program.option("observe") != "profile")
    throw Failure(Usage,
                  program.path +
                      ": the package does not record its tensors; compile the "
                      "model with --precision=fp32 --observe=profile");
  Dataset data(options.data, program.inputs(entry.c_str()));
  if (data.numSamples() < data.batchSize())
    throw Failure(Usage, data.path + " has " +
                             formatCount(data.numSamples(), "sample") +
                             ", fewer than one batch of " +
                             std::to_string(data.batchSize()));
  SessionSettings settings = options.session;
  settings.seed = options.seed;
  Session session(program, settings);
  if (!options.checkpoint.empty())
    session.load(options.checkpoint);
  // The schedule must be longer than its warm-up, even if there are few steps.
  setTotalSteps(session, program,
                options.steps + std::strtoull(program.option("warmup").c_str(),
                                              nullptr, 10));
  Sampler sampler(data.numSamples(), data.batchSize(), options.seed, true);
  const Package package(options.package);
  Profile profile(program, package, options.batch.entryOf(program, "observe"));
  for (uint64_t step = 0; step < options.steps; ++step) {
    const std::vector<uint64_t> samples = sampler.next().samples;
    const std::vector<mpc_tensor_t> &inputs = data.gather(samples);
    profile.observe(session, inputs);
    try {
      check(mpc_session_step(session.get(), inputs.data(), inputs.size(),
                             nullptr),
            format("step %llu", static_cast<unsigned long long>(step + 1)));
    } catch (const Failure &failure) {
      std::string place = data.explainNonFinite(samples);
      if (failure.exitCode != Numeric || place.empty())
        throw;
      std::string cause = failure.what();
      cause.erase(
          std::min(cause.rfind("; lower the learning rate"), cause.size()));
      throw Failure(Numeric, cause + "; " + place);
    }
  }
  writeFile(place, profile.toJson().dump(1) + "\n");
  printResult("%s: %s over %s\n", options.output.c_str(),
              formatCount(profile.numTensors(), "tensor").c_str(),
              formatCount(options.steps, "step").c_str());
  return Ok;
}

Action mpc::tool::addProfile(CLI::App &app) {
  auto options = std::make_shared<ProfileCommand>();
  CLI::App *profile = app.add_subcommand(
      "profile", "Record the value ranges of all tensors during training");
  profile
      ->add_option("package", options->package,
                   "Model compiled with --observe=profile (.mpc)")
      ->option_text("MODEL.mpc")
      ->required();
  options->data
      .addTo(*profile, "Data with an array for each model input, and labels or "
                       "targets, as for mpc train")
      ->required();
  options->batch.addTo(*profile);
  profile->add_option("--output,-o", options->output, "JSON file to write")
      ->option_text("OUT.json")
      ->required();
  profile->add_option("--steps", options->steps, "Batches (default: 20)")
      ->option_text("N")
      ->check(Whole(1));
  profile
      ->add_option("--checkpoint", options->checkpoint,
                   "Initial weights: a checkpoint, or a folder of checkpoints")
      ->option_text("PATH");
  profile
      ->add_option("--seed", options->seed,
                   "Seed for shuffling and dropout (default: 0)")
      ->option_text("N")
      ->check(Whole(0));
  options->session.addTo(*profile);
  return [options] { return runProfile(*options); };
}
