// Opens devices by name.

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "runtime/src/device/device.h"
#include "runtime/src/device/driver.h"

namespace mpc::runtime {

namespace {

bool is_accelerator(const DeviceKind& kind) {
  return kind.row->device_class == kernels::DeviceClass::Accelerator;
}

mpc_status_t no_such_device(const char* name) {
  std::string known = "auto";
  for (const DeviceKind& kind : kDeviceKinds) {
    const std::string device(kind.row->name);
    known += ", " + device;
    if (is_accelerator(kind)) known += ", " + device + ":<number>";
  }
  return mpc_status_make(MPC_UNAVAILABLE,
                         "there is no device '%s' on this machine; devices: %s",
                         name, known.c_str());
}

mpc_status_t open_kind(const DeviceKind& kind, int index,
                       const mpc_program_t& program,
                       const DeviceOptions& options, OpenedDevice* out) {
  const char* name = kind.row->name.data();
  out->variant = find_variant(*program.root, name);
  if (!out->variant)
    return mpc_status_make(MPC_UNAVAILABLE,
                           "the package has no code for the device '%s'; "
                           "compile the model with option 'target'=%s",
                           name, name);
  return kind.driver->open(index, program, *out->variant, options,
                           &out->device);
}

// Parses the device number in "<kind>:<number>"; false if it is not a number.
bool parse_number(std::string_view digits, int* number) {
  if (digits.empty() || digits.size() > 4) return false;
  *number = 0;
  for (char digit : digits) {
    if (digit < '0' || digit > '9') return false;
    *number = *number * 10 + (digit - '0');
  }
  return true;
}

// Opens the first accelerator that runs the program, otherwise a host. Notes
// why no accelerator was chosen only if the program has code for one.
mpc_status_t open_best(const mpc_program_t& program,
                       const DeviceOptions& options, OpenedDevice* out) {
  const DeviceKind* host = nullptr;
  for (const DeviceKind& kind : kDeviceKinds)
    if (!host && !is_accelerator(kind) &&
        find_variant(*program.root, kind.row->name))
      host = &kind;
  std::string note;
  for (const DeviceKind& kind : kDeviceKinds) {
    if (!is_accelerator(kind) || !find_variant(*program.root, kind.row->name))
      continue;
    mpc_status_t status =
        open_kind(kind, static_cast<int>(options.index), program, options, out);
    if (!status || !host) return status;
    if (note.empty()) {
      note = mpc_status_message(status);
      // The CPU is an alternative already.
      note.erase(std::min(note.find("; install "), note.size()));
    }
    mpc_status_free(status);
  }
  out->note = std::move(note);
  return open_kind(host ? *host : kDeviceKinds[0], 0, program, options, out);
}

}  // namespace

mpc_status_t open_device(const char* name, const mpc_program_t& program,
                         const DeviceOptions& options,
                         OpenedDevice* out_device) {
  if (std::strcmp(name, "auto") == 0)
    return open_best(program, options, out_device);
  const std::string_view text = name;
  const size_t colon = text.find(':');
  const DeviceKind* kind = find_device_kind(text.substr(0, colon));
  int index =
      kind && is_accelerator(*kind) ? static_cast<int>(options.index) : 0;
  if (!kind || (colon != std::string_view::npos &&
                (!is_accelerator(*kind) ||
                 !parse_number(text.substr(colon + 1), &index))))
    return no_such_device(name);
  return open_kind(*kind, index, program, options, out_device);
}

}  // namespace mpc::runtime
