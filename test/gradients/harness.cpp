//===- harness.cpp - Compile and run small models -------------------------===//

#include "test/gradients/harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace mpc::test {

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

double Random::next() {
  // SplitMix64.
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  return double(z >> 11) * 0x1p-53;
}

int64_t TensorSpec::count() const {
  int64_t result = 1;
  for (int64_t extent : shape)
    result *= extent;
  return result;
}

Values TensorSpec::fill(uint64_t seed) const {
  if (!values.empty())
    return values;
  Random random(seed);
  auto isNearKink = [&](double value) {
    return std::any_of(kinks.begin(), kinks.end(), [=](double kink) {
      return std::fabs(value - kink) < 0.01;
    });
  };
  Values result(count());
  for (double &value : result)
    do
      value = float(low + (high - low) * random.next());
    while (isNearKink(value));
  return result;
}

std::vector<TensorSpec> parseTensors(const std::string &text) {
  std::vector<TensorSpec> result;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    TensorSpec tensor;
    size_t open = word.find('['), close = word.find(']');
    tensor.name = word.substr(0, open);
    tensor.type = "float";
    std::istringstream extents(word.substr(open + 1, close - open - 1));
    for (std::string extent; std::getline(extents, extent, ',');)
      tensor.shape.push_back(std::stoll(extent));
    if (close + 1 < word.size()) { // ":low..high"
      size_t dots = word.find("..");
      tensor.low = std::stod(word.substr(close + 2, dots - close - 2));
      tensor.high = std::stod(word.substr(dots + 2));
      for (size_t at = word.find('~'); at != word.npos;
           at = word.find('~', at + 1))
        tensor.kinks.push_back(std::stod(word.substr(at + 1)));
    }
    result.push_back(tensor);
  }
  return result;
}

double largest(const Values &values) {
  double result = 0;
  for (double value : values) {
    if (std::isnan(value))
      return INFINITY;
    result = std::max(result, std::fabs(value));
  }
  return result;
}

static Values difference(const Values &a, const Values &b) {
  EXPECT_EQ(a.size(), b.size());
  Values result(a.size());
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    result[i] = a[i] - b[i];
  return result;
}

double scaledError(const Values &a, const Values &b) {
  double error = largest(difference(a, b));
  return error == 0 ? 0 : error / largest(b);
}

static double norm(const Values &values) {
  double sum = 0;
  for (double value : values)
    sum += value * value;
  return std::sqrt(sum);
}

double normError(const Values &a, const Values &b) {
  double error = norm(difference(a, b));
  return error == 0 ? 0 : error / norm(b);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

Folder::Folder() {
  std::string name =
      (std::filesystem::temp_directory_path() / "mpc-gradients-XXXXXX")
          .string();
  root = mkdtemp(name.data());
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(root, ignored);
}

std::string writeText(const Folder &folder, const std::string &name,
                      const std::string &text) {
  std::string path = folder.path(name);
  std::ofstream(path) << text;
  return path;
}

bool isOk(mpc_status_t status) {
  bool ok = mpc_status_code(status) == MPC_OK;
  EXPECT_TRUE(ok) << mpc_status_message(status);
  mpc_status_free(status);
  return ok;
}

ProgramPtr compile(CompileOptions options, const Folder &folder) {
  options.output = folder.path("program.mpc");
  CompileResult result = mpc::compile(options);
  EXPECT_FALSE(failed(result.failure)) << result.diagnostics << result.error;
  if (failed(result.failure))
    return nullptr;
  mpc_program_t *program = nullptr;
  if (!isOk(mpc_program_load_file(options.output.c_str(), &program)))
    return nullptr;
  return ProgramPtr(program, mpc_program_destroy);
}

//===----------------------------------------------------------------------===//
// Doubles to elements and back
//===----------------------------------------------------------------------===//

template <typename T> static std::string encodeAs(const Values &values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    T value = T(values[i]);
    std::memcpy(&bytes[i * sizeof(T)], &value, sizeof(T));
  }
  return bytes;
}

template <typename T> static Values decodeAs(const std::string &bytes) {
  Values values(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, &bytes[i * sizeof(T)], sizeof(T));
    values[i] = double(value);
  }
  return values;
}

static std::string encode(const Values &values, mpc_dtype_t dtype) {
  switch (dtype) {
  case MPC_DTYPE_F64:
    return encodeAs<double>(values);
  case MPC_DTYPE_F32:
    return encodeAs<float>(values);
  case MPC_DTYPE_I64:
    return encodeAs<int64_t>(values);
  case MPC_DTYPE_I32:
    return encodeAs<int32_t>(values);
  case MPC_DTYPE_BOOL:
    return encodeAs<uint8_t>(values);
  default:
    ADD_FAILURE() << "no test needs " << mpc_dtype_name(dtype);
    return "";
  }
}

static Values decode(const std::string &bytes, mpc_dtype_t dtype) {
  switch (dtype) {
  case MPC_DTYPE_F64:
    return decodeAs<double>(bytes);
  case MPC_DTYPE_F32:
    return decodeAs<float>(bytes);
  case MPC_DTYPE_I64:
    return decodeAs<int64_t>(bytes);
  case MPC_DTYPE_I32:
    return decodeAs<int32_t>(bytes);
  case MPC_DTYPE_BOOL:
    return decodeAs<uint8_t>(bytes);
  default:
    ADD_FAILURE() << "no test needs " << mpc_dtype_name(dtype);
    return {};
  }
}

static size_t countOf(const int64_t *shape, uint32_t rank) {
  size_t result = 1;
  for (uint32_t i = 0; i < rank; ++i)
    result *= size_t(shape[i]);
  return result;
}

/// A tensor of the C API; the bytes must outlive it.
template <typename Info>
static mpc_tensor_t tensorOver(const Info &info, std::string &bytes) {
  return {sizeof(mpc_tensor_t), info.dtype,   info.rank,
          info.shape,           bytes.data(), {}};
}

//===----------------------------------------------------------------------===//
// Session
//===----------------------------------------------------------------------===//

Session::Session(ProgramPtr program, const SessionOptions &options)
    : program(program) {
  mpc_session_options_t given = {};
  given.struct_size = sizeof(given);
  given.threads = options.threads;
  given.deterministic = options.deterministic;
  given.seed = options.seed;
  mpc_session_t *created = nullptr;
  isOk(mpc_session_create(program.get(), &given, &created));
  session.reset(created, mpc_session_destroy);
  for (size_t i = 0; i < mpc_program_num_states(program.get()); ++i) {
    mpc_state_info_t state = {};
    state.struct_size = sizeof(state);
    isOk(mpc_program_state(program.get(), i, &state));
    states.push_back(state);
  }
}

namespace {
/// Inputs of an entry point for the C API.
struct Inputs {
  Inputs(const mpc_program_t *program, const char *entry,
         const std::vector<Values> &values) {
    size_t count = mpc_program_num_inputs(program, entry);
    EXPECT_EQ(count, values.size());
    bytes.resize(count);
    for (size_t i = 0; i < std::min(count, values.size()); ++i) {
      mpc_binding_info_t binding = {};
      binding.struct_size = sizeof(binding);
      isOk(mpc_program_input(program, entry, i, &binding));
      EXPECT_EQ(countOf(binding.shape, binding.rank), values[i].size())
          << binding.name;
      bytes[i] = encode(values[i], binding.dtype);
      tensors.push_back(tensorOver(binding, bytes[i]));
    }
  }
  std::vector<std::string> bytes;
  std::vector<mpc_tensor_t> tensors;
};
} // namespace

mpc_step_info_t Session::step(const std::vector<Values> &values) {
  Outcome outcome = tryStep(values);
  EXPECT_EQ(outcome.code, MPC_OK) << outcome.message;
  return outcome.info;
}

Session::Outcome Session::tryStep(const std::vector<Values> &values) {
  bool accumulates = !mpc_program_has_entry(program.get(), "step");
  Inputs inputs(program.get(), accumulates ? "accumulate" : "step", values);
  mpc_step_info_t info = {};
  info.struct_size = sizeof(info);
  mpc_status_t status = mpc_session_step(session.get(), inputs.tensors.data(),
                                         inputs.tensors.size(), &info);
  Outcome outcome = {MPC_OK, "", info};
  if (status) {
    outcome.code = mpc_status_code(status);
    outcome.message = mpc_status_message(status);
    mpc_status_free(status);
  }
  return outcome;
}

std::map<std::string, Values> Session::run(const std::string &entry,
                                           const std::vector<Values> &values) {
  Inputs inputs(program.get(), entry.c_str(), values);
  size_t count = mpc_program_num_outputs(program.get(), entry.c_str());
  std::vector<mpc_binding_info_t> bindings(count);
  std::vector<std::string> bytes(count);
  std::vector<mpc_tensor_t> outputs;
  for (size_t i = 0; i < count; ++i) {
    bindings[i].struct_size = sizeof(bindings[i]);
    isOk(mpc_program_output(program.get(), entry.c_str(), i, &bindings[i]));
    bytes[i].resize(countOf(bindings[i].shape, bindings[i].rank) *
                    mpc_dtype_size(bindings[i].dtype));
    outputs.push_back(tensorOver(bindings[i], bytes[i]));
  }
  isOk(mpc_session_run(session.get(), entry.c_str(), inputs.tensors.data(),
                       inputs.tensors.size(), outputs.data(), outputs.size()));
  std::map<std::string, Values> result;
  for (size_t i = 0; i < count; ++i)
    result[bindings[i].name] = decode(bytes[i], bindings[i].dtype);
  return result;
}

const mpc_state_info_t &Session::info(const std::string &name) const {
  static const mpc_state_info_t none = {};
  for (const mpc_state_info_t &state : states)
    if (name == state.name)
      return state;
  ADD_FAILURE() << "no state '" << name << "'";
  return none;
}

bool Session::has(const std::string &name) const {
  for (const mpc_state_info_t &state : states)
    if (name == state.name)
      return true;
  return false;
}

static std::string readBytes(mpc_session_t *session,
                             const mpc_state_info_t &state) {
  std::string bytes(
      countOf(state.shape, state.rank) * mpc_dtype_size(state.dtype), '\0');
  mpc_tensor_t tensor = tensorOver(state, bytes);
  isOk(mpc_session_read_state(session, state.name, &tensor));
  return bytes;
}

Values Session::read(const std::string &name) const {
  const mpc_state_info_t &state = info(name);
  return state.name ? decode(readBytes(session.get(), state), state.dtype)
                    : Values();
}

void Session::write(const std::string &name, const Values &values) {
  const mpc_state_info_t &state = info(name);
  if (!state.name)
    return;
  ASSERT_EQ(values.size(), countOf(state.shape, state.rank)) << name;
  std::string bytes = encode(values, state.dtype);
  mpc_tensor_t tensor = tensorOver(state, bytes);
  isOk(mpc_session_write_state(session.get(), name.c_str(), &tensor));
}

std::map<std::string, std::string> Session::snapshot() const {
  std::map<std::string, std::string> result;
  for (const mpc_state_info_t &state : states)
    result[state.name] = readBytes(session.get(), state);
  return result;
}

std::vector<std::string> Session::parameters() const {
  std::vector<std::string> result;
  for (const mpc_state_info_t &state : states)
    if (state.is_parameter)
      result.push_back(state.name);
  return result;
}

} // namespace mpc::test
