// Sessions on the fake driver, and the kernels of the test packages for it.

#ifndef MPC_TEST_RUNTIME_CUDA_KERNELS_H_
#define MPC_TEST_RUNTIME_CUDA_KERNELS_H_

#include "test/cuda/fake/fake_driver.h"
#include "test/runtime/package.h"

namespace mpc::test {

// Registers every function that the package calls with the driver.
void add_package_kernels(FakeDriver* fake);

// Options for a package for both kinds of device.
PackageOptions cuda_package();

struct CudaSessionOptions {
  const char* device = "cuda";
  bool asynchronous = true;
  void* stream = nullptr;
};
mpc_status_t try_create(const ProgramPtr& program,
                        const CudaSessionOptions& options,
                        SessionPtr* out_session);
SessionPtr create_on(const ProgramPtr& program,
                     const CudaSessionOptions& options = {});

}  // namespace mpc::test

#endif  // MPC_TEST_RUNTIME_CUDA_KERNELS_H_
