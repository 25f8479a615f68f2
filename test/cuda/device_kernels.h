// The kernels of kernels/cuda/*.cu in the simulator, by name.

#ifndef MPC_TEST_CUDA_DEVICE_KERNELS_H_
#define MPC_TEST_CUDA_DEVICE_KERNELS_H_

#include "test/cuda/fake/fake_driver.h"
#include "test/cuda/host_driver.h"

namespace mpc::test {

// Makes launches of these kernels run in the simulator.
void add_device_kernels(HostDriver* driver);
void add_device_kernels(FakeDriver* driver);

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_DEVICE_KERNELS_H_
