// The CPU, with the fast kernels.

#include "runtime/src/device/driver.h"

#include "runtime/src/device/host.h"

namespace mpc::runtime {

namespace {

constexpr Host kCpu = {"cpu", kernels::make_cpu_kernel, /*has_threads=*/true};

mpc_status_t open(int, const mpc_program_t& program,
                  const schema::Variant& variant, const DeviceOptions& options,
                  std::unique_ptr<Device>* out_device) {
  return open_host(kCpu, program, variant, options, out_device);
}

mpc_status_t check_code(const schema::Program& root, const uint8_t* file,
                        const schema::Variant& variant) {
  return check_host_code(kCpu, root, file, variant);
}

}  // namespace

const DeviceDriver kCpuDriver = {open, check_code, check_cpu_features,
                                 /*has_blocks=*/false};

}  // namespace mpc::runtime
