//===- MasterWeights.cpp - Read and write weights as f32 ------------------===//

#include "tools/mpc/checkpoints/MasterWeights.h"

#include "runtime/src/base/number.h"

#include <cmath>
#include <cstdint>
#include <cstring>

using namespace mpc::tool;
using mpc::runtime::bf16_from_f32;
using mpc::runtime::f32_from_bf16;

/// The name of the state with the rounding error of a weight; "" if there is
/// none.
static std::string compensationOf(const Program &program,
                                  const mpc_state_info_t &info) {
  for (const mpc_state_info_t &state : program.states())
    if (state.role == MPC_STATE_COMPENSATION && state.weight &&
        std::strcmp(state.weight, info.name) == 0)
      return state.name;
  return "";
}

static mpc_tensor_t tensorOf(const mpc_state_info_t &info, void *data) {
  return {sizeof(mpc_tensor_t), info.dtype, info.rank, info.shape, data, {}};
}

static size_t countOf(const mpc_state_info_t &info) {
  size_t count = 1;
  for (uint32_t i = 0; i < info.rank; ++i)
    count *= info.shape[i];
  return count;
}

bool mpc::tool::isBf16Weight(const mpc_state_info_t &info) {
  return info.is_parameter && info.dtype == MPC_DTYPE_BF16;
}

std::vector<float> mpc::tool::readFloats(const Session &session,
                                         const Program &program,
                                         const mpc_state_info_t &info) {
  std::vector<float> values(countOf(info));
  if (!isBf16Weight(info)) {
    mpc_tensor_t tensor = tensorOf(info, values.data());
    check(mpc_session_read_state(session.get(), info.name, &tensor), info.name);
    return values;
  }
  std::vector<uint16_t> bits(values.size());
  mpc_tensor_t tensor = tensorOf(info, bits.data());
  check(mpc_session_read_state(session.get(), info.name, &tensor), info.name);
  for (size_t i = 0; i < bits.size(); ++i)
    values[i] = f32_from_bf16(bits[i]);
  std::string rest = compensationOf(program, info);
  if (rest.empty())
    return values;
  check(mpc_session_read_state(session.get(), rest.c_str(), &tensor), rest);
  for (size_t i = 0; i < bits.size(); ++i)
    values[i] += f32_from_bf16(bits[i]);
  return values;
}

void mpc::tool::writeWeight(Session &session, const Program &program,
                            const mpc_state_info_t &info,
                            const std::vector<float> &values) {
  std::vector<uint16_t> bits(values.size()), left(values.size());
  for (size_t i = 0; i < bits.size(); ++i) {
    bits[i] = bf16_from_f32(values[i]);
    float rest = values[i] - f32_from_bf16(bits[i]);
    left[i] = std::isfinite(rest) ? bf16_from_f32(rest) : 0;
  }
  mpc_tensor_t tensor = tensorOf(info, bits.data());
  check(mpc_session_write_state(session.get(), info.name, &tensor), info.name);
  std::string rest = compensationOf(program, info);
  if (rest.empty())
    return;
  tensor.data = left.data();
  check(mpc_session_write_state(session.get(), rest.c_str(), &tensor), rest);
}

void mpc::tool::writeFloats(Session &session, const Program &program,
                            const mpc_state_info_t &info,
                            const std::function<double(uint64_t)> &valueAt) {
  const size_t count = countOf(info);
  std::vector<double> doubles;
  std::vector<float> singles;
  if (info.dtype == MPC_DTYPE_F64) {
    doubles.resize(count);
    for (size_t i = 0; i < count; ++i)
      doubles[i] = valueAt(i);
  } else {
    singles.resize(count);
    for (size_t i = 0; i < count; ++i)
      singles[i] = static_cast<float>(valueAt(i));
  }
  if (isBf16Weight(info))
    return writeWeight(session, program, info, singles);
  mpc_tensor_t tensor =
      tensorOf(info, doubles.empty() ? static_cast<void *>(singles.data())
                                     : static_cast<void *>(doubles.data()));
  check(mpc_session_write_state(session.get(), info.name, &tensor), info.name);
}
