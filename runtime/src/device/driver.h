// What the runtime asks of a kind of device. One for each row of
// kernels/devices.def, in a folder of its name: no other code here knows which
// devices there are.

#ifndef MPC_RUNTIME_SRC_DEVICE_DRIVER_H_
#define MPC_RUNTIME_SRC_DEVICE_DRIVER_H_

#include <memory>
#include <string_view>

#include "kernels/devices.h"
#include "runtime/src/device/device.h"

namespace mpc::runtime {

struct DeviceDriver {
  // Opens device number `index`, 0 for a host, for the program's variant of the
  // kind.
  mpc_status_t (*open)(int index, const mpc_program_t& program,
                       const schema::Variant& variant,
                       const DeviceOptions& options,
                       std::unique_ptr<Device>* out_device);
  // MPC_INCOMPATIBLE if the file has no code for the functions of the variant.
  // Null where which code it takes depends on the device: `open` says it.
  mpc_status_t (*check_code)(const schema::Program& root, const uint8_t* file,
                             const schema::Variant& variant);
  // MPC_INCOMPATIBLE if this machine cannot run the variant. Null if `open`
  // finds out.
  mpc_status_t (*check_machine)(const schema::Variant& variant);
  // Whether functions are started as blocks of threads, on operands at
  // multiples of kVectorAlignment.
  bool has_blocks;
};

// What the folders define.
#define MPC_DEVICE(name, Folder, ...) \
  extern const DeviceDriver k##Folder##Driver;
#include "kernels/devices.def"

// A row and its driver.
struct DeviceKind {
  const kernels::DeviceRow* row;
  const DeviceDriver* driver;
};

inline constexpr DeviceKind kDeviceKinds[] = {
#define MPC_DEVICE(name, Folder, ...) \
  {kernels::find_device(#name), &k##Folder##Driver},
#include "kernels/devices.def"
};

// Null if there is no such kind, as for a variant that a newer compiler made.
inline const DeviceKind* find_device_kind(std::string_view name) {
  for (const DeviceKind& kind : kDeviceKinds)
    if (kind.row->name == name) return &kind;
  return nullptr;
}

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_DRIVER_H_
