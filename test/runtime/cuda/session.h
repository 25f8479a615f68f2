// Sessions on a fake CUDA device in host memory.

#ifndef MPC_TEST_RUNTIME_CUDA_SESSION_H_
#define MPC_TEST_RUNTIME_CUDA_SESSION_H_

#include <gtest/gtest.h>

#include <cstring>

#include "test/runtime/cuda/kernels.h"

namespace mpc::test {

// Inputs that overflow from time to time, as the loss scale grows.
inline float value_of_step(int i) {
  return i % 7 == 3 ? 1e6f : 1.0f + 0.5f * i;
}

inline mpc_step_info_t step_with(mpc_session_t* session, Batch* batch) {
  mpc_step_info_t info = {};
  info.struct_size = sizeof(info);
  EXPECT_OK(mpc_session_step(session, batch->tensors, 2, &info));
  return info;
}

inline mpc_step_info_t synchronize(const SessionPtr& session) {
  mpc_step_info_t info = {};
  info.struct_size = sizeof(info);
  EXPECT_OK(mpc_session_synchronize(session.get(), &info));
  return info;
}

inline void expect_same(const mpc_step_info_t& a, const mpc_step_info_t& b) {
  EXPECT_EQ(std::memcmp(&a, &b, sizeof(a)), 0)
      << "call " << a.call << "/" << b.call << ", loss " << a.loss << "/"
      << b.loss << ", scale " << a.loss_scale << "/" << b.loss_scale
      << ", norm " << a.grad_norm << "/" << b.grad_norm << ", step " << a.step
      << "/" << b.step;
}

class Cuda : public testing::Test {
 protected:
  void SetUp() override { add_package_kernels(&fake); }
  void TearDown() override {
    EXPECT_EQ(fake.leaks(), "");
    EXPECT_EQ(fake.error(), "");
  }
  FakeDriver fake;
};

}  // namespace mpc::test

#endif  // MPC_TEST_RUNTIME_CUDA_SESSION_H_
