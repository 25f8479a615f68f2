//===- MasterWeights.cpp - Weights as numbers of f32 ----------------------===//

#include "tools/mpc/MasterWeights.h"

#include "runtime/src/base/number.h"

#include <cmath>
#include <cstdint>

using namespace mpc::tool;
using mpc::runtime::bf16_from_f32;
using mpc::runtime::f32_from_bf16;

static std::string restOf(const mpc_state_info_t &info) {
  return std::string("compensation/") + info.name;
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

bool mpc::tool::isNarrowWeight(const mpc_state_info_t &info) {
  return info.is_parameter && info.dtype == MPC_DTYPE_BF16;
}

std::vector<float> mpc::tool::readFloats(const Session &session,
                                         const Program &program,
                                         const mpc_state_info_t &info) {
  std::vector<float> values(countOf(info));
  if (!isNarrowWeight(info)) {
    mpc_tensor_t tensor = tensorOf(info, values.data());
    check(mpc_session_read_state(session.get(), info.name, &tensor), info.name);
    return values;
  }
  std::vector<uint16_t> bits(values.size());
  mpc_tensor_t tensor = tensorOf(info, bits.data());
  check(mpc_session_read_state(session.get(), info.name, &tensor), info.name);
  for (size_t i = 0; i < bits.size(); ++i)
    values[i] = f32_from_bf16(bits[i]);
  std::string rest = restOf(info);
  if (!program.hasState(rest.c_str()))
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
  std::string rest = restOf(info);
  if (!program.hasState(rest.c_str()))
    return;
  tensor.data = left.data();
  check(mpc_session_write_state(session.get(), rest.c_str(), &tensor), rest);
}
