//===- InitialWeights.cpp - The options --init of mpc train ---------------===//

#include "tools/mpc/checkpoints/initial/InitialWeights.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/checkpoints/Checkpoints.h"
#include "tools/mpc/checkpoints/MasterWeights.h"
#include "tools/mpc/checkpoints/initial/WeightsFile.h"
#include "tools/mpc/options/Checks.h"

#include "runtime/src/base/number.h"
#include "runtime/src/checkpoint/checkpoint.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <regex>

using namespace mpc::tool;
using mpc::runtime::StoredTensor;

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

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

/// The safetensors file of a checkpoint, or the file itself.
static std::string findFile(const std::string &given) {
  std::string path = resolveBest(given);
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored))
    return path;
  if (!isCheckpoint(path)) {
    std::vector<std::string> found = listCheckpoints(path);
    if (found.empty())
      throw Failure(InputOutput,
                    "--init: '" + path + "' contains no checkpoint 'step-N'");
    path = found.back();
  }
  return path + "/" + mpc::runtime::kModelFile;
}

namespace {
/// A regular expression and what replaces it.
struct NameMap {
  std::regex from;
  std::string to;
};
} // namespace

static std::vector<NameMap> parseMaps(const std::vector<std::string> &texts) {
  std::vector<NameMap> maps;
  for (const std::string &text : texts) {
    size_t equals = text.rfind('=');
    if (equals == text.npos || equals == 0)
      throw Failure(Usage, "--map-names: '" + text + "' is not REGEX=TEXT");
    try {
      maps.push_back(
          {std::regex(text.substr(0, equals)), text.substr(equals + 1)});
    } catch (const std::regex_error &error) {
      throw Failure(Usage,
                    "--map-names: '" + text.substr(0, equals) +
                        "' is not a regular expression: " + error.what());
    }
  }
  return maps;
}

/// The tensors of the file by their mapped names.
static std::map<std::string, const StoredTensor *>
mapNames(const WeightsFile &file, const std::vector<NameMap> &maps) {
  std::map<std::string, const StoredTensor *> found;
  for (const StoredTensor &tensor : file.tensors) {
    std::string name = tensor.name;
    for (const NameMap &map : maps)
      name = std::regex_replace(name, map.from, map.to);
    if (auto [at, isNew] = found.try_emplace(name, &tensor); !isNew)
      throw Failure(Usage, "--map-names: '" + tensor.name + "' and '" +
                               at->second->name + "' both become '" + name +
                               "'");
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static bool isFloat(mpc_dtype_t dtype) {
  return dtype == MPC_DTYPE_F32 || dtype == MPC_DTYPE_F16 ||
         dtype == MPC_DTYPE_BF16 || dtype == MPC_DTYPE_F64;
}

/// Element `index` of a tensor of floats.
static double numberAt(mpc_dtype_t dtype, const char *data, size_t index) {
  uint16_t bits;
  float single;
  double wide;
  switch (dtype) {
  case MPC_DTYPE_F64:
    std::memcpy(&wide, data + index * sizeof(wide), sizeof(wide));
    return wide;
  case MPC_DTYPE_F32:
    std::memcpy(&single, data + index * sizeof(single), sizeof(single));
    return single;
  default:
    std::memcpy(&bits, data + index * sizeof(bits), sizeof(bits));
    return dtype == MPC_DTYPE_BF16 ? mpc::runtime::f32_from_bf16(bits)
                                   : mpc::runtime::f32_from_f16(bits);
  }
}

static std::vector<int64_t> shapeOf(const mpc_state_info_t &info) {
  return {info.shape, info.shape + info.rank};
}

/// Writes a tensor of the file to a state of floats.
static void writeState(Session &session, const Program &program,
                       const mpc_state_info_t &info, const WeightsFile &file,
                       const StoredTensor &tensor) {
  std::string subject = file.path + ": '" + tensor.name + "'";
  if (!isFloat(tensor.dtype) || tensor.shape != shapeOf(info))
    throw Failure(Usage, subject + " is " +
                             formatType(tensor.dtype, tensor.shape) +
                             ", but '" + info.name + "' of the model is " +
                             formatType(info.dtype, shapeOf(info)));
  const std::vector<char> data = file.read(tensor);
  writeFloats(session, program, info, [&](uint64_t i) {
    double value = numberAt(tensor.dtype, data.data(), i);
    if (!std::isfinite(value) || !std::isfinite(static_cast<float>(value)))
      throw Failure(
          Usage,
          subject + format(" contains %g", value) +
              (std::isfinite(value) ? ", which is too large for float32" : ""));
    return value;
  });
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// "; every name of the file begins with 'module.': add ..." if the names fit
/// without the words before their first dot.
static std::string
suggestMap(const std::vector<std::string> &missing,
           const std::map<std::string, const StoredTensor *> &tensors) {
  for (const auto &[name, tensor] : tensors) {
    size_t dot = name.find('.');
    if (dot == name.npos)
      continue;
    std::string prefix = name.substr(0, dot);
    for (const std::string &wanted : missing)
      if (name.substr(dot + 1) == wanted)
        return "; to remove '" + prefix +
               ".' from the names of the file, add "
               "--map-names='^" +
               prefix + "[.]='";
  }
  for (const auto &[name, tensor] : tensors)
    for (const std::string &wanted : missing)
      if (size_t dot = wanted.find('.');
          dot != wanted.npos && wanted.substr(dot + 1) == name)
        return "; to put '" + wanted.substr(0, dot + 1) +
               "' in front of the names of the file, add --map-names='^=" +
               wanted.substr(0, dot + 1) + "'";
  return "";
}

/// Whether a constant of the package, such as a buffer, has the values of a
/// tensor of the file, rounded to its type.
static bool hasValues(const Session &session, const mpc_state_info_t &info,
                      const WeightsFile &file, const StoredTensor &tensor) {
  if (!isFloat(info.dtype) || !isFloat(tensor.dtype) ||
      tensor.shape != shapeOf(info))
    return false;
  const size_t count = tensor.bytes / mpc_dtype_size(tensor.dtype);
  std::vector<char> values(count * mpc_dtype_size(info.dtype));
  mpc_tensor_t state = {sizeof(state), info.dtype,    info.rank,
                        info.shape,    values.data(), {}};
  check(mpc_session_read_state(session.get(), info.name, &state), info.name);
  const std::vector<char> data = file.read(tensor);
  for (size_t i = 0; i < count; ++i) {
    const double wanted = numberAt(tensor.dtype, data.data(), i);
    const double found = numberAt(info.dtype, values.data(), i);
    const double rounded =
        info.dtype == MPC_DTYPE_F64 ? wanted : static_cast<float>(wanted);
    // What 16 bits hold differs by less than their precision.
    const double tolerance =
        info.dtype == MPC_DTYPE_F32 || info.dtype == MPC_DTYPE_F64
            ? 0
            : std::abs(rounded) / 128;
    if (!(found == rounded || std::abs(found - rounded) <= tolerance))
      return false;
  }
  return true;
}

/// The tensor among `used` that has the same values: they are tied, and the
/// exporter has kept one of them. Null if there is none; vectors may be equal
/// by chance.
static const StoredTensor *
findTied(const WeightsFile &file, const StoredTensor &tensor,
         const std::vector<const StoredTensor *> &used) {
  if (tensor.shape.size() < 2)
    return nullptr;
  const std::vector<char> data = file.read(tensor);
  for (const StoredTensor *other : used)
    if (other->dtype == tensor.dtype && other->shape == tensor.shape &&
        file.read(*other) == data)
      return other;
  return nullptr;
}

void InitialWeights::apply(Session &session, const Program &program,
                           const std::set<std::string> &others) const {
  const std::unique_ptr<WeightsFile> opened =
      openWeights(findFile(file), readOnnx);
  const WeightsFile &weights = *opened;
  std::map<std::string, const StoredTensor *> tensors =
      mapNames(weights, parseMaps(maps));
  std::vector<std::string> missing, unexpected;
  std::vector<const StoredTensor *> used;
  for (const mpc_state_info_t &info : program.states()) {
    bool isConstant = info.role == MPC_STATE_CONSTANT;
    if (!info.is_parameter && info.role != MPC_STATE_STATISTIC && !isConstant)
      continue;
    auto found = tensors.find(info.name);
    if (others.count(info.name) > 0) {
      tensors.erase(info.name);
      continue;
    }
    if (found == tensors.end()) {
      if (!isConstant)
        missing.push_back(info.name);
      continue;
    }
    if (isConstant && hasValues(session, info, weights, *found->second)) {
      tensors.erase(found);
      continue;
    }
    if (isConstant)
      throw Failure(Usage, weights.path + ": '" + info.name +
                               "' is a constant of the package, which training "
                               "cannot change; compile the model without "
                               "freezing it, or from a file with its values");
    writeState(session, program, info, weights, *found->second);
    used.push_back(found->second);
    tensors.erase(found);
  }
  // Counters of batches are no weights, nor is everything that a model has.
  std::string tied;
  for (const auto &[name, tensor] : tensors) {
    if (!isFloat(tensor->dtype) || weights.isModel)
      continue;
    if (const StoredTensor *other = findTied(weights, *tensor, used))
      tied += "; '" + tensor->name + "' is tied to '" + other->name + "'";
    else
      unexpected.push_back(name);
  }
  const size_t written = used.size();
  std::string differences;
  if (!missing.empty())
    differences = "it lacks " + listNames(missing);
  if (!unexpected.empty())
    differences += (differences.empty() ? "" : "; ") +
                   std::string("the model has no ") + listNames(unexpected);
  if (written == 0 || (strict != "off" && !differences.empty()))
    throw Failure(Usage,
                  weights.path + " does not have the weights of the model: " +
                      (differences.empty() ? "it has none" : differences) +
                      suggestMap(missing, tensors) +
                      (written == 0 ? ""
                                    : "; use --init-strict=off to begin with "
                                      "what both have"));
  note("began with " + formatCount(written, "tensor") + " of '" + weights.path +
       "'" + (differences.empty() ? "" : "; " + differences) + tied);
}
