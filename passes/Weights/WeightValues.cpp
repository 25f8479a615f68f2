//===- WeightValues.cpp - The numbers of a tensor of a file ---------------===//

#include "passes/Weights/WeightValues.h"

#include "compiler/Support/HalfFloat.h"

#include <cmath>
#include <cstdio>
#include <cstring>

using namespace mpc;

bool mpc::isFloatDtype(mpc_dtype_t dtype) {
  return dtype == MPC_DTYPE_F32 || dtype == MPC_DTYPE_F16 ||
         dtype == MPC_DTYPE_BF16 || dtype == MPC_DTYPE_F64;
}

double mpc::numberAt(mpc_dtype_t dtype, const char *data, size_t index) {
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
    return dtype == MPC_DTYPE_BF16 ? bfloatToFloat(bits) : halfToFloat(bits);
  }
}

std::string mpc::typeText(mpc_dtype_t dtype,
                          const std::vector<int64_t> &shape) {
  std::string text = mpc_dtype_name(dtype);
  text += "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i > 0 ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

void mpc::checkFits(const WeightsFile &file, const StoredWeight &tensor,
                    const WeightState &state) {
  if (!isFloatDtype(tensor.dtype) || tensor.shape != state.shape)
    throw WeightsError(WeightsError::Usage,
                       file.path + ": '" + tensor.name + "' is " +
                           typeText(tensor.dtype, tensor.shape) + ", but '" +
                           state.name + "' of the model is " +
                           typeText(state.dtype, state.shape));
}

/// Reads a tensor that fits.
static std::vector<char> readFitting(const WeightsFile &file,
                                     const StoredWeight &tensor,
                                     const WeightState &state) {
  checkFits(file, tensor, state);
  return file.read(tensor);
}

WeightValues::WeightValues(const WeightsFile &file, const StoredWeight &tensor,
                           const WeightState &state)
    : file(file), tensor(tensor), state(state),
      data(readFitting(file, tensor, state)) {}

double WeightValues::at(size_t index) const {
  const double value = numberAt(tensor.dtype, data.data(), index);
  if (std::isfinite(static_cast<float>(value)))
    return value;
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  throw WeightsError(
      WeightsError::Usage,
      file.path + ": '" + tensor.name + "' contains " + text +
          (std::isfinite(value) ? ", which is too large for float32" : ""));
}

bool WeightValues::equal(const char *values) const {
  const size_t count = data.size() / mpc_dtype_size(tensor.dtype);
  for (size_t i = 0; i < count; ++i) {
    const double wanted = numberAt(tensor.dtype, data.data(), i);
    const double found = numberAt(state.dtype, values, i);
    const double rounded =
        state.dtype == MPC_DTYPE_F64 ? wanted : static_cast<float>(wanted);
    // What 16 bits hold differs by less than their precision.
    const double tolerance =
        state.dtype == MPC_DTYPE_F32 || state.dtype == MPC_DTYPE_F64
            ? 0
            : std::abs(rounded) / 128;
    if (!(found == rounded || std::abs(found - rounded) <= tolerance))
      return false;
  }
  return true;
}
