//===- InitialWeights.cpp - The options --init of mpc train ---------------===//

#include "tools/mpc/checkpoints/initial/InitialWeights.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/checkpoints/MasterWeights.h"
#include "tools/mpc/checkpoints/initial/FindWeights.h"
#include "tools/mpc/options/Checks.h"

#include "passes/Weights/WeightMatch.h"
#include "passes/Weights/WeightValues.h"

using namespace mpc::tool;
using mpc::WeightState;

void InitialWeights::addTo(CLI::App &command) {
  command
      .add_option("--init", file,
                  "Begin with these weights: a safetensors file (as PyTorch "
                  "users save a state_dict), an ONNX model, a checkpoint, or a "
                  "folder of checkpoints")
      ->option_text("FILE")
      ->check(NotEmpty())
      ->group("Starting weights");
  command
      .add_option("--map-names", maps,
                  "Replace a regular expression in the names of the file "
                  "('^module[.]='); may be repeated")
      ->option_text("REGEX=TEXT")
      ->take_all()
      ->group("Starting weights");
  command
      .add_option("--init-strict", strict,
                  "Whether the file must have exactly the weights of the "
                  "model (default: on)")
      ->option_text("on|off")
      ->check(Choice({"on", "off"}))
      ->group("Starting weights");
}

void InitialWeights::checkUsage() const {
  if (isGiven())
    return;
  if (!maps.empty())
    throw Failure(Usage, "--map-names requires --init");
  if (!strict.empty())
    throw Failure(Usage, "--init-strict requires --init");
}

/// The file with the weights. `openOnnx` is null in an mpc without the
/// compiler, which cannot read ONNX.
static std::unique_ptr<mpc::WeightsFile>
openWeights(const std::string &path, mpc::OpenWeights *openOnnx) {
  if (!mpc::isModelName(path))
    return mpc::openSafetensorsWeights(path);
  if (!openOnnx)
    throw Failure(Usage,
                  "--init: '" + path +
                      "' is an ONNX file, which this mpc cannot read: it "
                      "was built without the compiler; give the weights "
                      "as a safetensors file");
  return openOnnx(path);
}

static WeightState stateOf(const mpc_state_info_t &info) {
  return {info.name, info.dtype, {info.shape, info.shape + info.rank}};
}

/// Whether a constant of the package, such as a buffer, has the values of a
/// tensor of the file.
static bool hasValues(const Session &session, const mpc_state_info_t &info,
                      const mpc::WeightsFile &file,
                      const mpc::StoredWeight &tensor) {
  const WeightState state = stateOf(info);
  if (!mpc::isFloatDtype(info.dtype) || !mpc::isFloatDtype(tensor.dtype) ||
      tensor.shape != state.shape)
    return false;
  const size_t count = tensor.bytes / mpc_dtype_size(tensor.dtype);
  std::vector<char> values(count * mpc_dtype_size(info.dtype));
  mpc_tensor_t read = {sizeof(read), info.dtype,    info.rank,
                       info.shape,   values.data(), {}};
  check(mpc_session_read_state(session.get(), info.name, &read), info.name);
  return mpc::WeightValues(file, tensor, state).equal(values.data());
}

/// Writes the tensors of the file to the states of the same names; returns the
/// note about it.
static std::string writeStates(const mpc::NamedWeights &weights, bool isStrict,
                               Session &session, const Program &program,
                               const std::set<std::string> &others) {
  mpc::WeightMatch match(weights);
  for (const mpc_state_info_t &info : program.states()) {
    if (others.count(info.name) > 0) {
      match.skip(info.name);
    } else if (info.role == MPC_STATE_CONSTANT) {
      auto found = weights.tensors().find(info.name);
      if (found == weights.tensors().end())
        continue;
      if (!hasValues(session, info, weights.file(), *found->second))
        throw Failure(Usage, weights.file().path + ": '" + info.name +
                                 "' is a constant of the package, which "
                                 "training cannot change; give the file to "
                                 "'mpc compile --init', or compile the model "
                                 "without freezing it");
      match.skip(info.name);
    } else if (info.is_parameter || info.role == MPC_STATE_STATISTIC) {
      const mpc::StoredWeight *tensor = match.takeNeeded(info.name);
      if (!tensor)
        continue;
      const WeightState state = stateOf(info);
      const mpc::WeightValues values(weights.file(), *tensor, state);
      writeFloats(session, program, info,
                  [&](uint64_t i) { return values.at(i); });
    }
  }
  return match.finish(isStrict);
}

void InitialWeights::apply(Session &session, const Program &program,
                           const std::set<std::string> &others) const {
  try {
    mpc::NamedWeights weights(openWeights(findWeights(file), openOnnx), maps);
    note(writeStates(weights, strict != "off", session, program, others));
  } catch (const mpc::WeightsError &error) {
    throwFailure(error);
  }
}
