// What a device must be able to do. One implementation per kind of device; a
// session knows this table and nothing of what is behind it.

#ifndef MPC_RUNTIME_SRC_DEVICE_DEVICE_H_
#define MPC_RUNTIME_SRC_DEVICE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "mpc/session.h"
#include "runtime/src/base/memory.h"
#include "runtime/src/program/program.h"

namespace mpc::runtime {

// How a session wants its device used.
struct DeviceOptions {
  uint32_t threads = 0;  // 0: the device's choice.
  bool deterministic = false;
  mpc_allocator_t allocator;
};

// Told after each instruction of a traced run; returns false to stop.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual bool after(const schema::Instruction& instruction) = 0;
};

// The entry points of a program, made ready to run on memory that is fixed.
class Executable {
 public:
  virtual ~Executable() = default;

  // Runs entry point `entry` (its index) and returns when it is done.
  // Allocates nothing. A failure leaves the memory in between: the session is
  // lost (MPC_DEVICE_LOST).
  virtual mpc_status_t run(uint32_t entry) = 0;

  // The same one instruction at a time, for finding where something went
  // wrong.
  virtual mpc_status_t trace(uint32_t entry, Observer& observer) = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  // Takes memory for states and arena, zeroed and aligned to kAlignment; both
  // live as long as the device.
  virtual mpc_status_t allocate(uint64_t state_size, uint64_t arena_size) = 0;

  // Moves bytes between the host and [offset, offset + size) of a memory.
  virtual void upload(schema::Space space, uint64_t offset, const void* data,
                      uint64_t size) = 0;
  virtual void download(schema::Space space, uint64_t offset, void* data,
                        uint64_t size) const = 0;

  // Loads the code and makes every instruction ready.
  virtual mpc_status_t prepare(const mpc_program_t& program,
                               const schema::Variant& variant,
                               std::unique_ptr<Executable>* out_executable) = 0;
};

// Opens a device by name. MPC_UNAVAILABLE if this machine has none such.
mpc_status_t open_device(const char* name, const DeviceOptions& options,
                         std::unique_ptr<Device>* out_device);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_DEVICE_H_
