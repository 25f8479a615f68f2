// The naive kernels, on one thread: what other devices are measured by.

#include "runtime/src/device/driver.h"

#include "runtime/src/device/host.h"

namespace mpc::runtime {

namespace {

std::unique_ptr<kernels::Kernel> make_kernel(const kernels::KernelDesc& desc,
                                             const kernels::Context&,
                                             std::string* error) {
  return kernels::make_reference_kernel(desc, error);
}

constexpr Host kReference = {"reference", make_kernel, /*has_threads=*/false};

mpc_status_t open(int, const mpc_program_t& program,
                  const schema::Variant& variant, const DeviceOptions& options,
                  std::unique_ptr<Device>* out_device) {
  return open_host(kReference, program, variant, options, out_device);
}

mpc_status_t check_code(const schema::Program& root, const uint8_t* file,
                        const schema::Variant& variant) {
  return check_host_code(kReference, root, file, variant);
}

}  // namespace

const DeviceDriver kReferenceDriver = {open, check_code, check_cpu_features,
                                       /*has_blocks=*/false};

}  // namespace mpc::runtime
