// Valid descriptions of kernel calls, for tests that change them.

#ifndef MPC_TEST_KERNELS_DESCRIPTIONS_H_
#define MPC_TEST_KERNELS_DESCRIPTIONS_H_

#include <gtest/gtest.h>

#include "test/kernels/attention.h"
#include "test/kernels/harness.h"

namespace mpc::kernels::testing {

constexpr mpc_dtype_t f16 = MPC_DTYPE_F16, f32 = MPC_DTYPE_F32,
                      bf16 = MPC_DTYPE_BF16, i64 = MPC_DTYPE_I64,
                      u8 = MPC_DTYPE_U8;

// Expects both makers to reject the description with this text.
inline void expect_refused(const KernelDesc& desc, const std::string& text) {
  std::string error;
  EXPECT_FALSE(make_cpu_kernel(desc, {2, false}, &error));
  EXPECT_EQ(error, text);
  error.clear();
  EXPECT_FALSE(make_reference_kernel(desc, &error));
  EXPECT_EQ(error, text);
}

inline KernelDesc matmul(TensorDesc lhs, TensorDesc rhs, TensorDesc result,
                         std::vector<int64_t> attributes = {0, 0}) {
  return {KernelId::matmul, {lhs, rhs, result}, attributes};
}

const ConvCase kConv = {2,      4,      6,      {5, 5}, {3, 3},
                        {1, 1}, {1, 1}, {1, 1}, {1, 1}};

inline KernelDesc conv(KernelId id = KernelId::conv) {
  return conv_desc(id, kConv, false, f32, f32);
}

inline KernelDesc pool(KernelId id = KernelId::max_pool) {
  return pool_desc(id, kConv, true, false, f32);
}

inline KernelDesc look_up(KernelId id = KernelId::embedding) {
  return embedding_desc(id, {{5, 3}, {2, 4}}, f32, i64);
}

}  // namespace mpc::kernels::testing

#endif  // MPC_TEST_KERNELS_DESCRIPTIONS_H_
