// Launches a kernel of the .cu files with one thread per element.

#ifndef MPC_KERNELS_CUDA_DRIVER_LAUNCH_H_
#define MPC_KERNELS_CUDA_DRIVER_LAUNCH_H_

#include <cstdint>
#include <string>

#include "kernels/cuda/driver/driver.h"

namespace mpc::kernels {

// Number of threads per block. Kernels use grid-stride loops, so no number of
// elements is too large.
constexpr unsigned kBlockThreads = 256;

inline std::string launch(const cuda::Driver& driver, cuda::CUfunction function,
                          int64_t elements, cuda::CUstream stream,
                          void** parameters) {
  constexpr int64_t kMaxBlocks = int64_t{1} << 30;
  const int64_t blocks = (elements + kBlockThreads - 1) / kBlockThreads;
  const unsigned grid =
      static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks);
  const cuda::CUresult result =
      driver.cuLaunchKernel(function, grid, 1, 1, kBlockThreads, 1, 1, 0,
                            stream, parameters, nullptr);
  if (result == cuda::CUDA_SUCCESS) return "";
  return describe_error(driver, "cuLaunchKernel", result);
}

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_DRIVER_LAUNCH_H_
