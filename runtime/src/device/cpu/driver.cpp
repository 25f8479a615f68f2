// The driver of device "cpu": the optimized kernels, on several threads.

#include "runtime/src/device/driver.h"

#include "runtime/src/device/host.h"

namespace mpc::runtime {

namespace {

constexpr Host kCpu = {"cpu", kernels::make_cpu_kernel, /*has_threads=*/true};

}  // namespace

const DeviceDriver kCpuDriver = host_driver<kCpu>();

}  // namespace mpc::runtime
