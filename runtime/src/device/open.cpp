// Devices by name.

#include <cstring>
#include <string>
#include <string_view>

#include "runtime/src/device/device.h"

namespace mpc::runtime {

namespace {

mpc_status_t no_such_device(const char* name) {
  return mpc_status_make(MPC_UNAVAILABLE,
                         "there is no device '%s' on this machine; devices: "
                         "auto, cpu, cuda, cuda:<number>",
                         name);
}

mpc_status_t find_code(const mpc_program_t& program, const char* kind,
                       const schema::Variant** out_variant) {
  *out_variant = find_variant(*program.root, kind);
  if (*out_variant) return nullptr;
  return mpc_status_make(MPC_UNAVAILABLE,
                         "the package has no code for the device '%s'; "
                         "compile the model with option 'target'=%s",
                         kind, kind);
}

mpc_status_t open_cpu(const mpc_program_t& program,
                      const DeviceOptions& options, OpenedDevice* out) {
  MPC_RETURN_IF_ERROR(find_code(program, "cpu", &out->variant));
  return open_cpu_device(program, *out->variant, options, &out->device);
}

mpc_status_t open_cuda(int index, const mpc_program_t& program,
                       const DeviceOptions& options, OpenedDevice* out) {
  MPC_RETURN_IF_ERROR(find_code(program, "cuda", &out->variant));
  return open_cuda_device(index, program, *out->variant, options, &out->device);
}

// The number behind "cuda:", 0 for "cuda"; false if it is neither.
bool parse_cuda_name(std::string_view name, int* index) {
  if (name.substr(0, 4) != "cuda") return false;
  std::string_view rest = name.substr(4);
  *index = 0;
  if (rest.empty()) return true;
  if (rest.size() < 2 || rest.size() > 5 || rest[0] != ':') return false;
  for (char digit : rest.substr(1)) {
    if (digit < '0' || digit > '9') return false;
    *index = *index * 10 + (digit - '0');
  }
  return true;
}

// A program for the CPU alone needs no reason to run there.
mpc_status_t open_best(const mpc_program_t& program,
                       const DeviceOptions& options, OpenedDevice* out) {
  if (!find_variant(*program.root, "cuda"))
    return open_cpu(program, options, out);
  mpc_status_t status = open_cuda(0, program, options, out);
  if (!status || !find_variant(*program.root, "cpu")) return status;
  out->note = std::string("not on CUDA: ") + mpc_status_message(status);
  mpc_status_free(status);
  return open_cpu(program, options, out);
}

}  // namespace

mpc_status_t open_device(const char* name, const mpc_program_t& program,
                         const DeviceOptions& options,
                         OpenedDevice* out_device) {
  int index;
  if (std::strcmp(name, "cpu") == 0)
    return open_cpu(program, options, out_device);
  if (std::strcmp(name, "auto") == 0)
    return open_best(program, options, out_device);
  if (parse_cuda_name(name, &index))
    return open_cuda(index, program, options, out_device);
  return no_such_device(name);
}

}  // namespace mpc::runtime
