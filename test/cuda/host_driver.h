// A driver table over host memory that does at once what it is asked for: what
// making and running single kernels needs, and a clock that only tests move.

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
  // Runs a launch; `parameters` are cuLaunchKernel's. Returns what was wrong.
  using Kernel = std::function<std::string(const Grid&, void** parameters)>;

  // Calls that fail once this many bytes are taken.
  size_t memory_bytes = size_t{1} << 40;
  size_t used_bytes = 0;
  std::map<cuda::CUdeviceptr, size_t> allocations;
  std::set<cuda::CUevent> events;
  size_t launches = 0;
  // What fake libraries add their work to; read by events.
  double microseconds = 0;
  // The name of a call that fails from now on, or empty.
  std::string failing;
  std::map<std::string, Kernel> kernels;
  // What was wrong with the last launch that failed.
  std::string launch_error;
  // The image of the last module.
  const void* image = nullptr;
  // Images that it does not take, and why.
  std::map<const void*, cuda::CUresult> refused;
  int version = 13000;

  const cuda::Driver* table() const;
  // The one that the table works on; a test makes one at a time.
  HostDriver();
  ~HostDriver();
  HostDriver(const HostDriver&) = delete;
};

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_HOST_DRIVER_H_
