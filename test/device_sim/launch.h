// A launch for both device and simulator: compiled by nvcc it runs on the
// device and waits, otherwise it runs in the simulator. Returns an empty string
// or an error.
//
//   launch(add_kernel, dim3(blocks), dim3(256), 0, a, b, n);

#ifndef MPC_TEST_DEVICE_SIM_LAUNCH_H_
#define MPC_TEST_DEVICE_SIM_LAUNCH_H_

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#ifndef __CUDACC__
#include "test/device_sim/device_sim.h"
#endif

namespace mpc::device_sim {

template <class... Parameters, class... Arguments>
[[nodiscard]] std::string launch(void (*kernel)(Parameters...), dim3 grid,
                                 dim3 block, size_t shared_bytes,
                                 Arguments... arguments) {
#ifdef __CUDACC__
  kernel<<<grid, block, shared_bytes>>>(static_cast<Parameters>(arguments)...);
  cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess) status = cudaDeviceSynchronize();
  return status == cudaSuccess ? "" : cudaGetErrorString(status);
#else
  return run(
      {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_bytes},
      [&] { kernel(static_cast<Parameters>(arguments)...); });
#endif
}

}  // namespace mpc::device_sim

#endif  // MPC_TEST_DEVICE_SIM_LAUNCH_H_
