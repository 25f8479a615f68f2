// The driver of device "reference": the naive kernels, on one thread. Other
// devices are compared with it.

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

}  // namespace

const DeviceDriver kReferenceDriver = host_driver<kReference>();

}  // namespace mpc::runtime
