// Tries to create a session on a device.

#ifndef MPC_TEST_RUNTIME_CUDA_TRY_ON_H_
#define MPC_TEST_RUNTIME_CUDA_TRY_ON_H_

#include "test/runtime/cuda/kernels.h"

namespace mpc::test {

inline Outcome try_on(const ProgramPtr& program, const char* device = "cuda") {
  CudaSessionOptions options;
  options.device = device;
  SessionPtr session;
  return take(try_create(program, options, &session));
}

}  // namespace mpc::test

#endif  // MPC_TEST_RUNTIME_CUDA_TRY_ON_H_
