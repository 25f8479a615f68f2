// Devices that run on the CPU of this process. They differ in their kernels.

#ifndef MPC_RUNTIME_SRC_DEVICE_HOST_H_
#define MPC_RUNTIME_SRC_DEVICE_HOST_H_

#include <memory>
#include <string>

#include "kernels/kernel.h"
#include "runtime/src/device/device.h"
#include "runtime/src/device/driver.h"

namespace mpc::runtime {

struct Host {
  // The name of the device in variants and code segments.
  const char* name;
  // Makes a kernel of the catalog.
  std::unique_ptr<kernels::Kernel> (*make_kernel)(
      const kernels::KernelDesc& desc, const kernels::Context& context,
      std::string* error);
  // Whether functions and kernels share their work among threads.
  bool has_threads;
};

// Opens a host device; `host` must outlive it.
mpc_status_t open_host(const Host& host, const mpc_program_t& program,
                       const schema::Variant& variant,
                       const DeviceOptions& options,
                       std::unique_ptr<Device>* out_device);

// See DeviceDriver::check_code.
mpc_status_t check_host_code(const Host& host, const schema::Program& root,
                             const uint8_t* file,
                             const schema::Variant& variant);

// The driver of a host device.
template <const Host& kHost>
constexpr DeviceDriver host_driver() {
  return {
      [](int, const mpc_program_t& program, const schema::Variant& variant,
         const DeviceOptions& options, std::unique_ptr<Device>* out_device) {
        return open_host(kHost, program, variant, options, out_device);
      },
      [](const schema::Program& root, const uint8_t* file,
         const schema::Variant& variant) {
        return check_host_code(kHost, root, file, variant);
      },
      check_cpu_features, /*has_blocks=*/false};
}

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_HOST_H_
