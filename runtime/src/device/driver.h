// The interface between the runtime and a kind of device. Each row of
// kernels/devices.def has one driver, in a folder of its name; no other code of
// the runtime depends on which devices there are.

#ifndef MPC_RUNTIME_SRC_DEVICE_DRIVER_H_
#define MPC_RUNTIME_SRC_DEVICE_DRIVER_H_

#include <memory>
#include <string_view>

#include "kernels/devices.h"
#include "runtime/src/device/device.h"

namespace mpc::runtime {

struct DeviceDriver {
  // Opens device number `index` (0 for a host) to run `variant`, the program's
  // variant for this kind of device.
  mpc_status_t (*open)(int index, const mpc_program_t& program,
                       const schema::Variant& variant,
                       const DeviceOptions& options,
                       std::unique_ptr<Device>* out_device);
  // MPC_INCOMPATIBLE if the file has no code for the functions of the variant.
  // Null if that depends on the device; then `open` reports it.
  mpc_status_t (*check_code)(const schema::Program& root, const uint8_t* file,
                             const schema::Variant& variant);
  // MPC_INCOMPATIBLE if this machine cannot run the variant. Null if only
  // `open` can tell.
  mpc_status_t (*check_machine)(const schema::Variant& variant);
  // Whether functions are launched as blocks of threads, on operands aligned to
  // kVectorAlignment.
  bool has_blocks;
};

// Declares the drivers, which the folders define.
#define MPC_DEVICE(name, Folder, ...) \
  extern const DeviceDriver k##Folder##Driver;
#include "kernels/devices.def"

// A row of kernels/devices.def and its driver.
struct DeviceKind {
  const kernels::DeviceRow* row;
  const DeviceDriver* driver;
};

inline constexpr DeviceKind kDeviceKinds[] = {
#define MPC_DEVICE(name, Folder, ...) \
  {kernels::find_device(#name), &k##Folder##Driver},
#include "kernels/devices.def"
};

// Null if this runtime has no such kind, as for a variant of a newer compiler.
inline const DeviceKind* find_device_kind(std::string_view name) {
  for (const DeviceKind& kind : kDeviceKinds)
    if (kind.row->name == name) return &kind;
  return nullptr;
}

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_DRIVER_H_
