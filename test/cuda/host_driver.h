// A synchronous driver in host memory, with everything for making and running
// single kernels, and a clock that only tests advance.

#ifndef MPC_TEST_CUDA_HOST_DRIVER_H_
#define MPC_TEST_CUDA_HOST_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "kernels/cuda/driver/driver.h"

namespace mpc::test {

struct HostDriver {
  struct Grid {
    unsigned grid[3], block[3];
    unsigned shared_bytes;
  };
  // Runs a launch; `parameters` are those of cuLaunchKernel. Returns an error
  // or "".
  using Kernel = std::function<std::string(const Grid&, void** parameters)>;

  // Allocations fail when this many bytes are in use.
  size_t memory_bytes = size_t{1} << 40;
  size_t used_bytes = 0;
  std::map<cuda::CUdeviceptr, size_t> allocations;
  std::set<cuda::CUevent> events;
  size_t launches = 0;
  // The clock: fake libraries add the time of their work, and events read it.
  double microseconds = 0;
  // The name of a call that fails from now on, or empty.
  std::string failing;
  std::map<std::string, Kernel> kernels;
  // The error of the last launch that failed.
  std::string launch_error;
  // The image of the last module.
  const void* image = nullptr;
  // Images that the driver rejects, and the error.
  std::map<const void*, cuda::CUresult> refused;
  int version = 13000;

  const cuda::Driver* table() const;
  // Makes this the driver of the table; only one may exist at a time.
  HostDriver();
  ~HostDriver();
  HostDriver(const HostDriver&) = delete;
};

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_HOST_DRIVER_H_
