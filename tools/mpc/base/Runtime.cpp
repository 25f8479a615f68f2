//===- Runtime.cpp - C++ wrappers of the C API of libmpcrt ----------------===//

#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/options/Checks.h"

#include "kernels/devices.h"
#include "runtime/src/base/number.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string_view>

using namespace mpc::tool;
namespace kernels = mpc::kernels;

ExitCode mpc::tool::exitCodeFor(mpc_code_t code) {
  switch (code) {
  case MPC_OK:
    return Ok;
  case MPC_INCOMPATIBLE:
  case MPC_DAMAGED:
    return Damaged;
  case MPC_OUT_OF_MEMORY:
    return Limit;
  case MPC_UNAVAILABLE:
  case MPC_DEVICE_LOST:
    return NoDevice;
  case MPC_IO:
    return InputOutput;
  case MPC_NUMERIC:
    return Numeric;
  case MPC_RANK_LOST:
    return RankLost;
  case MPC_INVALID_ARGUMENT:
  case MPC_INTERNAL:
    return Error;
  }
  return Error;
}

void mpc::tool::check(mpc_status_t status, const std::string &context) {
  if (!status)
    return;
  mpc_code_t code = mpc_status_code(status);
  std::string message = mpc_status_message(status);
  mpc_status_free(status);
  // Most messages about files already name the file.
  if (!context.empty() && message.find(context) == std::string::npos)
    message = context + ": " + message;
  throw RuntimeFailure(code, message);
}

std::string mpc::tool::formatType(mpc_dtype_t dtype,
                                  const std::vector<int64_t> &shape) {
  std::string text = std::string(mpc_dtype_name(dtype)) + "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i > 0 ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

/// The same for a call whose arguments come from options and the environment:
/// an invalid argument is a usage error.
static void checkAsked(mpc_status_t status, const std::string &context) {
  if (mpc_status_code(status) != MPC_INVALID_ARGUMENT)
    return check(status, context);
  std::string message = mpc_status_message(status);
  mpc_status_free(status);
  throw Failure(Usage, context + ": " + message);
}

/// Throws a Failure if `path` has the extension of an ONNX model.
static void refuseModel(const std::string &path) {
  std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".onnx" || extension == ".onnxtxt")
    throw Failure(Usage, "'" + path +
                             "' is a model; compile it first: mpc compile " +
                             path + " (for a GPU with --target=cuda)");
}

Program::Program(const std::string &path) : path(path) {
  refuseModel(path);
  mpc_program_t *loaded = nullptr;
  checkAsked(mpc_program_load_file(path.c_str(), &loaded), path);
  owned.reset(loaded);
  program = loaded;
  readStates();
}

Program::Program(const mpc_program_t *borrowed, std::string name)
    : path(std::move(name)), program(borrowed) {
  readStates();
}

void Program::readStates() {
  allStates.resize(mpc_program_num_states(get()));
  for (size_t i = 0; i < allStates.size(); ++i) {
    allStates[i].struct_size = sizeof(allStates[i]);
    check(mpc_program_state(get(), i, &allStates[i]), path);
  }
}

static Binding toBinding(const mpc_binding_info_t &info) {
  Binding binding = {info.name,
                     info.dtype,
                     {info.shape, info.shape + info.rank},
                     info.batch_dim};
  if (info.has_range)
    binding.range = {info.low, info.high,
                     info.has_ignored ? std::optional<int64_t>(info.ignored)
                                      : std::nullopt};
  return binding;
}

std::string Program::explainIndices() const {
  constexpr size_t kMaxNamed = 3;
  std::istringstream lines(option("computed-indices"));
  std::string text;
  size_t count = 0;
  for (std::string name; std::getline(lines, name); ++count)
    if (count < kMaxNamed)
      text += (count > 0 ? ", '" : "'") + name + "'";
  if (count > kMaxNamed)
    text += " and " + std::to_string(count - kMaxNamed) + " more";
  return count == 0 ? ""
                    : text + (count > 1 ? " take" : " takes") +
                          " indices or labels that the model computes; values "
                          "out of range give nan";
}

std::vector<Binding> Program::inputs(const char *entry) const {
  std::vector<Binding> bindings;
  // predict does not divide by the number of counted labels.
  const bool isPrediction = entry == std::string_view("predict");
  for (size_t i = 0; i < mpc_program_num_inputs(get(), entry); ++i) {
    mpc_binding_info_t info = {};
    info.struct_size = sizeof(info);
    check(mpc_program_input(get(), entry, i, &info), path);
    bindings.push_back(toBinding(info));
    if (bindings.back().range)
      bindings.back().range->needsOthers = !isPrediction;
  }
  return bindings;
}

std::vector<Binding> Program::outputs(const char *entry) const {
  std::vector<Binding> bindings;
  for (size_t i = 0; i < mpc_program_num_outputs(get(), entry); ++i) {
    mpc_binding_info_t info = {};
    info.struct_size = sizeof(info);
    check(mpc_program_output(get(), entry, i, &info), path);
    bindings.push_back(toBinding(info));
  }
  return bindings;
}

std::vector<uint64_t> Program::batchSizes(const char *entry) const {
  std::vector<uint64_t> sizes(
      mpc_program_batch_sizes(get(), entry, nullptr, 0));
  mpc_program_batch_sizes(get(), entry, sizes.data(), sizes.size());
  return sizes;
}

std::string Program::entryFor(const char *entry, uint64_t batch) const {
  const std::vector<uint64_t> sizes = batchSizes(entry);
  return sizes.empty() || batch == sizes.front()
             ? entry
             : std::string(entry) + "@" + std::to_string(batch);
}

uint64_t Program::batchSizeFor(const char *entry, uint64_t samples) const {
  std::vector<uint64_t> sizes = batchSizes(entry);
  if (sizes.empty())
    return 1;
  std::sort(sizes.begin(), sizes.end());
  auto enough = std::lower_bound(sizes.begin(), sizes.end(), samples);
  return enough == sizes.end() ? sizes.back() : *enough;
}

std::string Program::option(const char *name) const {
  const char *value = mpc_program_option(get(), name);
  return value ? value : "";
}

std::vector<std::string> Program::learningRates() const {
  const char *names = mpc_program_option(get(), "learning-rates");
  std::vector<std::string> rates;
  std::istringstream lines(names ? names : "learning_rate");
  for (std::string name; std::getline(lines, name);)
    rates.push_back(name);
  return rates;
}

const char *Program::stepEntry() const {
  if (has("step"))
    return "step";
  if (has("accumulate") && has("apply"))
    return "accumulate";
  if (has("forward"))
    throw Failure(Usage,
                  path + ": the program was compiled with --loss=external: "
                         "call its entry points 'forward' and 'backward' from "
                         "Python or C, which compute the loss in between");
  throw Failure(Usage, path + ": the program supports prediction only: its "
                              "model has no trainable parameters");
}

const char *Program::stateOf(mpc_state_role_t role) const {
  for (const mpc_state_info_t &state : states())
    if (state.role == role)
      return state.name;
  return nullptr;
}

bool Program::hasState(const char *name) const {
  return std::any_of(allStates.begin(), allStates.end(),
                     [&](const mpc_state_info_t &info) {
                       return std::strcmp(info.name, name) == 0;
                     });
}

uint64_t Program::microBatches() const {
  if (has("step"))
    return 1;
  uint64_t count = std::strtoull(option("accumulate").c_str(), nullptr, 10);
  return count == 0 ? 1 : count;
}

//===----------------------------------------------------------------------===//
// Session
//===----------------------------------------------------------------------===//

/// The maximum that the runtime accepts.
static constexpr uint64_t kMaxThreads = 1024;

static constexpr char kDeviceHelp[] =
    "Device: "
#define MPC_DEVICE(name, ...) #name ", "
#include "kernels/devices.def"
    "DEVICE:N for accelerator N, or auto (default: an accelerator if "
    "available and supported by the package)";

DeviceName::DeviceName() : CLI::Validator("") {
  func_ = [](std::string &name) -> std::string {
    std::vector<std::string> known = {"auto"};
    for (const kernels::DeviceRow &device : kernels::kDevices)
      known.emplace_back(device.name);
    if (std::find(known.begin(), known.end(), name) != known.end())
      return "";
    std::vector<std::string> forms = known;
    for (const kernels::DeviceRow &device : kernels::kDevices) {
      if (device.device_class == kernels::DeviceClass::Host)
        continue;
      const std::string prefix = std::string(device.name) + ":";
      forms.push_back(prefix + "N");
      // The runtime accepts at most four digits.
      constexpr size_t mostDigits = 4;
      if (name.compare(0, prefix.size(), prefix) == 0 &&
          name.size() > prefix.size() &&
          name.size() <= prefix.size() + mostDigits &&
          name.find_first_not_of("0123456789", prefix.size()) ==
              std::string::npos)
        return "";
    }
    return "must be " + joinWords(forms, "or") + ", but is '" + name + "'" +
           suggest(name, known);
  };
}

void SessionSettings::addTo(CLI::App &command) {
  command.add_option("--device", device, kDeviceHelp)
      ->option_text("NAME")
      ->check(DeviceName());
  command
      .add_option("--threads", threads,
                  "Number of CPU threads; 0: all (default)")
      ->option_text("N")
      ->check(Whole(0, kMaxThreads));
  command.add_flag(
      "--deterministic", deterministic,
      "Bit-identical results for any number of threads and in every GPU run");
}

void SessionSettings::addCodeDirTo(CLI::App &command) {
  command
      .add_option("--code-dir", codeDir,
                  "Keep the compiled code as a file in DIR, so that perf can "
                  "name its functions (CPU)")
      ->option_text("DIR")
      ->group("Profile")
      ->check(NotEmpty());
}

/// "cpu: no CUDA driver found" for "cpu (no CUDA driver found)".
static std::string withoutParentheses(const std::string &device) {
  const std::string host = std::string(kernels::kDevices[0].name) + " (";
  if (device.rfind(host, 0) != 0 || device.back() != ')')
    return device;
  return std::string(kernels::kDevices[0].name) + ": " +
         device.substr(host.size(), device.size() - host.size() - 1);
}

/// A checksum of texts or bytes, one after the other.
namespace {
class Fingerprint {
public:
  void add(const void *data, size_t size) {
    sums.push_back(mpc::runtime::checksum(data, size));
  }
  void add(const std::string &text) { add(text.data(), text.size()); }
  std::string text() const {
    return format("%016llx",
                  static_cast<unsigned long long>(mpc::runtime::checksum(
                      sums.data(), sums.size() * sizeof(sums[0]))));
  }

private:
  std::vector<uint64_t> sums;
};
} // namespace

std::string Program::fingerprint() const {
  Fingerprint print;
  for (size_t i = 0; i < mpc_program_num_options(get()); ++i) {
    const std::string name = mpc_program_option_name(get(), i);
    print.add(name);
    print.add(option(name.c_str()));
  }
  for (const mpc_state_info_t &state : states()) {
    print.add(state.name);
    print.add(formatType(state.dtype, {state.shape, state.shape + state.rank}));
  }
  for (const Binding &input : inputs(stepEntry())) {
    print.add(input.name);
    print.add(formatType(input.dtype, input.shape));
  }
  return print.text();
}

std::string Session::fingerprint() const {
  Fingerprint print;
  std::vector<char> bytes;
  for (const mpc_state_info_t &state : program.states()) {
    if (state.role == MPC_STATE_DERIVED || state.role == MPC_STATE_RESIDUAL ||
        state.role == MPC_STATE_WORKING_COPY ||
        state.role == MPC_STATE_RANK_SEED ||
        state.role == MPC_STATE_RANK_GRADIENTS)
      continue;
    mpc_tensor_t tensor = {};
    tensor.struct_size = sizeof(tensor);
    tensor.dtype = state.dtype;
    tensor.rank = state.rank;
    tensor.shape = state.shape;
    size_t size = mpc_dtype_size(state.dtype);
    for (uint32_t i = 0; i < state.rank; ++i)
      size *= static_cast<size_t>(state.shape[i]);
    bytes.resize(std::max<size_t>(size, 1));
    tensor.data = bytes.data();
    check(mpc_session_read_state(get(), state.name, &tensor));
    print.add(bytes.data(), size);
  }
  return print.text();
}

mpc_shard_t mpc::tool::parseShard(const std::string &value) {
  return value == "optimizer"   ? MPC_SHARD_OPTIMIZER
         : value == "gradients" ? MPC_SHARD_GRADIENTS
                                : MPC_SHARD_NONE;
}

Session::Session(const Program &program, const SessionSettings &settings)
    : program(program) {
  mpc_session_options_t options = {};
  options.struct_size = sizeof(options);
  options.device = settings.device.c_str();
  options.asynchronous = settings.asynchronous;
  options.threads = settings.threads;
  options.deterministic = settings.deterministic;
  options.seed = settings.seed;
  options.communicator = settings.communicator;
  if (settings.communicator) {
    options.shard = settings.shard;
    if (settings.roundsGradients)
      options.gradient_exchange = MPC_GRADIENT_EXCHANGE_BF16;
  }
  if (!settings.codeDir.empty())
    options.code_folder = settings.codeDir.c_str();
  mpc_session_t *session = nullptr;
  checkAsked(mpc_session_create(program.get(), &options, &session),
             program.path);
  handle.reset(session);
  std::string device = mpc_session_device(session);
  if (device != kernels::kDevices[0].name)
    note("running on " + withoutParentheses(device));
}

bool mpc::tool::isCheckpoint(const std::string &path) {
  std::error_code ignored;
  return !path.empty() &&
         std::filesystem::exists(path + "/MANIFEST.json", ignored);
}

std::string mpc::tool::resolveBest(const std::string &path) {
  std::error_code ignored;
  size_t colon = path.rfind(":best");
  bool isBest = colon != path.npos && colon + 5 == path.size() &&
                !std::filesystem::exists(path, ignored);
  return isBest ? path.substr(0, colon) + "/best" : path;
}

/// Copies and frees a string of the runtime; "" for null.
static std::string takeString(char *text) {
  std::string copy = text ? text : "";
  mpc_string_free(text);
  return copy;
}

std::string Session::loadLatest(const std::string &folder,
                                std::string &mismatch) {
  char *path, *warning, *difference;
  check(mpc_session_resume(get(), folder.c_str(), &path, &warning, &difference),
        folder);
  std::string loaded = takeString(path);
  mismatch = takeString(difference);
  if (std::string text = takeString(warning); !text.empty())
    warn(text);
  return loaded;
}

std::optional<std::string> Session::property(const std::string &name) const {
  const char *value = mpc_session_get_property(get(), name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

void Session::setProperty(const std::string &name, const std::string &value) {
  check(mpc_session_set_property(get(), name.c_str(), value.c_str()));
}

mpc_dtype_t Session::typeOf(const char *state) const {
  for (const mpc_state_info_t &info : program.states())
    if (std::strcmp(info.name, state) == 0)
      return info.dtype;
  throw Failure(Damaged,
                program.path + ": the program has no state '" + state + "'");
}

double Session::readScalar(const char *name) const {
  float single = 0;
  double wide = 0;
  bool isWide = typeOf(name) == MPC_DTYPE_F64;
  mpc_tensor_t tensor = {
      sizeof(tensor), isWide ? MPC_DTYPE_F64 : MPC_DTYPE_F32,        0,
      nullptr,        isWide ? static_cast<void *>(&wide) : &single, {}};
  check(mpc_session_read_state(get(), name, &tensor));
  return isWide ? wide : single;
}

void Session::writeScalar(const char *name, double value) {
  float single = value;
  bool isWide = typeOf(name) == MPC_DTYPE_F64;
  if (!isWide && !std::isfinite(single))
    throw Failure(Usage, format("state '%s' is f32, for which %g is too large",
                                name, value));
  mpc_tensor_t tensor = {
      sizeof(tensor), isWide ? MPC_DTYPE_F64 : MPC_DTYPE_F32,         0,
      nullptr,        isWide ? static_cast<void *>(&value) : &single, {}};
  check(mpc_session_write_state(get(), name, &tensor));
}

int64_t Session::readCounter(const char *name) const {
  int64_t value = 0;
  mpc_tensor_t tensor = {sizeof(tensor), MPC_DTYPE_I64, 0, nullptr, &value, {}};
  check(mpc_session_read_state(get(), name, &tensor), name);
  return value;
}

void Session::writeCounter(const char *name, int64_t value) {
  mpc_tensor_t tensor = {sizeof(tensor), MPC_DTYPE_I64, 0, nullptr, &value, {}};
  check(mpc_session_write_state(get(), name, &tensor), name);
}

void mpc::tool::setTotalSteps(Session &session, const Program &program,
                              uint64_t steps) {
  const char *state = program.stateOf(MPC_STATE_TOTAL_STEPS);
  if (state && session.readCounter(state) == 0)
    session.writeCounter(state, steps);
}
