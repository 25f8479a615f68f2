//===- RandomBatch.cpp - Inputs for measurements --------------------------===//

#include "tools/mpc/timing/RandomBatch.h"
#include "tools/mpc/base/Memory.h"

#include "kernels/float_types.h"

#include <algorithm>
#include <cstring>
#include <random>

using namespace mpc::tool;
using mpc::kernels::Bf16;
using mpc::kernels::F16;

/// Integers without a limit are below this: a small number fits any use.
static constexpr int64_t kMostValues = 16;

namespace {

/// The values of one input.
class Values {
public:
  Values(const Binding &input, std::mt19937_64 &random)
      : input(input), random(random) {}

  void write(char *at) {
    switch (input.dtype) {
    case MPC_DTYPE_F32:
      return put(at, unit());
    case MPC_DTYPE_F16:
      return put(at, F16(unit()).bits);
    case MPC_DTYPE_BF16:
      return put(at, Bf16(unit()).bits);
    case MPC_DTYPE_F64:
      return put(at, double(unit()));
    case MPC_DTYPE_I64:
      return put(at, integer());
    case MPC_DTYPE_I32:
      return put(at, int32_t(integer()));
    case MPC_DTYPE_U8:
      return put(at, uint8_t(integer()));
    case MPC_DTYPE_BOOL:
      return put(at, uint8_t(random() & 1));
    case MPC_DTYPE_F8E4M3:
    case MPC_DTYPE_F8E5M2:
      break;
    }
    throw Failure(Damaged, "input '" + input.name + "' has the type " +
                               mpc_dtype_name(input.dtype));
  }

private:
  template <typename T> static void put(char *at, T value) {
    std::memcpy(at, &value, sizeof(value));
  }

  /// In [0, 1), exact in f32 and f16.
  float unit() { return float(random() % 1024) / 1024; }

  int64_t integer() {
    int64_t low = 0, count = kMostValues;
    if (input.range) {
      // The smallest and the largest i64 mean no limit.
      low = input.range->low == INT64_MIN ? 0 : input.range->low;
      if (input.range->high != INT64_MAX) {
        if (input.range->low == INT64_MIN)
          low = std::min<int64_t>(0, input.range->high - 1);
        count = input.range->high - low;
      }
    }
    return low + int64_t(random() % uint64_t(std::max<int64_t>(1, count)));
  }

  const Binding &input;
  std::mt19937_64 &random;
};

} // namespace

RandomBatch::RandomBatch(const std::vector<Binding> &bindings)
    : inputs(bindings) {
  std::mt19937_64 random(0);
  for (const Binding &input : inputs) {
    if (input.batchDim >= 0)
      samples = uint64_t(input.shape[input.batchDim]);
    uint64_t count = 1, size = mpc_dtype_size(input.dtype);
    for (int64_t extent : input.shape)
      count *= uint64_t(extent);
    buffers.emplace_back();
    resizeOrThrow(buffers.back(), count * size, "input '" + input.name + "'");
    Values values(input, random);
    for (uint64_t i = 0; i < count; ++i)
      values.write(buffers.back().data() + i * size);
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    allTensors.push_back({sizeof(mpc_tensor_t),
                          inputs[i].dtype,
                          uint32_t(inputs[i].shape.size()),
                          inputs[i].shape.data(),
                          buffers[i].data(),
                          {}});
}
