// What a device must be able to do. One implementation per kind of device; a
// session knows this table and nothing of what is behind it.

#ifndef MPC_RUNTIME_SRC_DEVICE_DEVICE_H_
#define MPC_RUNTIME_SRC_DEVICE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "mpc/session.h"
#include "runtime/src/base/memory.h"
#include "runtime/src/program/program.h"

namespace mpc::runtime {

// How a session wants its device used.
struct DeviceOptions {
  uint32_t threads = 0;  // 0: the device's choice.
  bool deterministic = false;
  void* stream = nullptr;  // CUDA: the caller's CUstream, null for an own one.
  mpc_allocator_t allocator;
};

// Told before and after each instruction of a traced run; returns false to
// stop.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual bool before(const schema::Instruction& instruction) = 0;
  virtual bool after(const schema::Instruction& instruction) = 0;
};

// In which memory bytes of the caller lie.
enum class Place { kHost, kDevice };

// What an input of an entry point gets: the bytes at `data`.
struct Input {
  const schema::Buffer* buffer;
  const void* data;
  Place place;
};

// A number that a submission reads for the session.
struct Value {
  schema::Space space;
  uint64_t offset;
  uint32_t size;   // At most sizeof(uint64_t).
  uint32_t after;  // Entry points that have run when it is read: 0 is before
                   // the first, 2 and more are after the second.
};
inline constexpr size_t kMaxValues = 10;

// What was read, each in the first bytes of its place.
struct Values {
  uint64_t bits[kMaxValues];
};

// Work that is queued as one: the inputs arrive, then the entry points run,
// with values read before, between and after them.
struct Submission {
  const Input* inputs = nullptr;
  size_t num_inputs = 0;
  const uint32_t* entries = nullptr;  // Their indices.
  size_t num_entries = 0;
  const Value* values = nullptr;  // At most kMaxValues.
  size_t num_values = 0;
};

// The entry points of a program, made ready to run on memory that is fixed.
// A failure (MPC_DEVICE_LOST) leaves the memory in between: the session is
// lost.
class Executable {
 public:
  virtual ~Executable() = default;

  // Queues the work and returns without waiting for it, where the device can
  // do that. Inputs in host memory have been taken over when it returns. Each
  // submission must be waited for; at most depth() + 1 may be in flight.
  virtual mpc_status_t submit(const Submission& submission) = 0;

  // Waits for the oldest submission in flight and gives its values. Later
  // ones run on.
  virtual mpc_status_t wait(Values* out_values) = 0;

  // Submissions that may run on while the host prepares the next one. 0 if
  // submit() does the work itself.
  virtual size_t depth() const = 0;

  // Puts the inputs of a submission that was waited for back where its entry
  // point wants them; `later` were submitted and waited for after it. What
  // instructions need lies there no longer: memory is shared. Nothing may be in
  // flight. `*out_restored` is false if they are gone.
  virtual mpc_status_t restore_inputs(size_t later, bool* out_restored) = 0;

  // Runs an entry point one instruction at a time, for finding where something
  // went wrong. Nothing may be in flight.
  virtual mpc_status_t trace(uint32_t entry, Observer& observer) = 0;

  // What differs from how the device is meant to be used, for people; "" if
  // nothing does.
  virtual const std::string& note() const = 0;

  // The kernels of libraries that were chosen for this device, in the order of
  // the program.
  struct Kernel {
    std::string kernel, implementation, entry, instruction;
    uint64_t calls = 0;
    uint64_t workspace_bytes = 0;
  };
  virtual const std::vector<Kernel>& kernels() const {
    static const std::vector<Kernel> none;
    return none;
  }
};

class Device {
 public:
  virtual ~Device() = default;

  // "cpu", "cuda:0 NVIDIA H200".
  virtual const std::string& name() const = 0;

  // Takes memory for states and arena, zeroed and aligned to kAlignment; both
  // live as long as the device.
  virtual mpc_status_t allocate(uint64_t state_size, uint64_t arena_size) = 0;

  // Moves bytes of the caller to or from [offset, offset + size) of a memory,
  // after everything that was queued before, and waits until it is done.
  virtual mpc_status_t upload(schema::Space space, uint64_t offset,
                              const void* data, uint64_t size,
                              Place place = Place::kHost) = 0;
  virtual mpc_status_t download(schema::Space space, uint64_t offset,
                                void* data, uint64_t size,
                                Place place = Place::kHost) const = 0;

  // Where `data`, which the caller says lies on `device`, does lie.
  // MPC_INVALID_ARGUMENT if that is not the host and not this device.
  virtual mpc_status_t locate(mpc_device_t device, const void* data,
                              Place* out_place) const = 0;

  // Loads the code and makes every instruction ready.
  virtual mpc_status_t prepare(std::unique_ptr<Executable>* out_executable) = 0;
};

// A device and the variant of the program that it runs.
struct OpenedDevice {
  std::unique_ptr<Device> device;
  const schema::Variant* variant = nullptr;
  std::string note;  // Why it is not another one, for people; or "".
};

// Opens a device by name for a program, which must outlive it: a name of
// kernels/devices.def, of accelerators with a number ("cuda:1"); "auto" is the
// first accelerator if the program has code that it runs, else a host.
// MPC_UNAVAILABLE if this machine has none such, MPC_INCOMPATIBLE if it cannot
// run the program's code.
mpc_status_t open_device(const char* name, const mpc_program_t& program,
                         const DeviceOptions& options,
                         OpenedDevice* out_device);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_DEVICE_H_
