// The interface of a device. There is one implementation per kind of device,
// and sessions use only this interface.

#ifndef MPC_RUNTIME_SRC_DEVICE_DEVICE_H_
#define MPC_RUNTIME_SRC_DEVICE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mpc/session.h"
#include "runtime/src/base/memory.h"
#include "runtime/src/device/profile.h"
#include "runtime/src/program/program.h"

namespace mpc::runtime {

// How a session uses its device.
struct DeviceOptions {
  uint32_t threads = 0;  // 0: the device's choice.
  bool deterministic = false;
  uint32_t index = 0;      // An accelerator's number, if its name has none.
  void* stream = nullptr;  // CUDA: the caller's CUstream; null: make a new one.
  std::string code_folder;  // Host: where to keep the code; "": only in memory.
  mpc_allocator_t allocator;
  mpc_thread_pool_t thread_pool = {};  // Host: `run` is null if there is none.
};

// Called before and after each instruction of a traced run; returns false to
// stop the run.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual bool before(const schema::Instruction& instruction) = 0;
  virtual bool after(const schema::Instruction& instruction) = 0;
};

// The memory that holds the caller's data.
enum class MemoryKind { kHost, kDevice };

// An input of an entry point: the bytes at `data` are copied to `buffer`.
struct Input {
  const schema::Buffer* buffer;
  const void* data;
  MemoryKind memory_kind;
};

// An output of an entry point, and host memory for it; null: not fetched.
struct Output {
  const schema::Buffer* buffer;
  void* data;
};

// A number that a submission reads back for the session.
struct Value {
  schema::Space space;
  uint64_t offset;
  uint32_t size;   // At most sizeof(uint64_t).
  uint32_t after;  // Number of entry points that have run when it is read. A
                   // larger number than there are means after the last one.
};
inline constexpr size_t kMaxValues = 10;

// The values that were read, each in the first bytes of its element.
struct Values {
  uint64_t bits[kMaxValues];
};

// Told, by the thread that runs a submission, after each instruction.
class RunListener {
 public:
  virtual ~RunListener() = default;
  // So many instructions of the entry point have run.
  virtual void ran(size_t instructions) = 0;
};

// Ranks that compute means together; see the kernel mean_over_ranks.
class RankMeans {
 public:
  virtual ~RankMeans() = default;
  // Replaces `count` f32 or f64 by the means of those of all ranks.
  virtual mpc_status_t mean(void* data, uint64_t count, mpc_dtype_t dtype) = 0;
};

// The items of an instruction that run: all, or those of some ranges.
struct ItemRanges {
  struct Range {
    int64_t begin, end;
  };
  bool are_some = false;
  std::vector<Range> ranges;
};

// Instructions of an entry point.
struct Part {
  size_t begin, end;
  const ItemRanges* items;  // Those of each instruction of the entry point.
};

// Work that is queued as a unit: the inputs are copied, the entry points run in
// order, and values are read before, between and after them.
struct Submission {
  const Input* inputs = nullptr;
  size_t num_inputs = 0;
  const uint32_t* entries = nullptr;  // Their indices.
  size_t num_entries = 0;
  const Value* values = nullptr;  // At most kMaxValues.
  size_t num_values = 0;
  RunListener* listener = nullptr;  // Hosts only, for a single entry point.
  RankMeans* means = nullptr;       // Hosts only; null: this is the only rank.
  const Part* part =
      nullptr;  // Hosts only: of the only entry point; null: all.
  const Output* outputs = nullptr;  // Null, or all outputs of the only entry
  size_t num_outputs = 0;           // point; see Executable::writes_outputs.
};

// The entry points of a program, prepared to run at fixed addresses. After a
// failure with MPC_DEVICE_LOST the contents of memory are undefined, and the
// session is lost.
class Executable {
 public:
  virtual ~Executable() = default;

  // Queues the work and, if the device supports that, returns without waiting
  // for it. Inputs in host memory have been copied when it returns. The caller
  // must wait for each submission; at most depth() + 1 may be in flight.
  virtual mpc_status_t submit(const Submission& submission) = 0;

  // Whether submissions may have outputs; otherwise use Device::download.
  virtual bool writes_outputs() const { return false; }

  // Waits for the oldest submission in flight and returns its values. Later
  // submissions continue to run.
  virtual mpc_status_t wait(Values* out_values) = 0;

  // The number of submissions that may run while the host prepares the next
  // one. 0 if submit() runs the work synchronously.
  virtual size_t depth() const = 0;

  // Copies the inputs of a completed submission to their places in the arena
  // again, where they have been overwritten because buffers share memory.
  // `later` is the number of submissions that completed after it. Nothing may
  // be in flight. `*out_restored` is false if the inputs are no longer
  // available.
  virtual mpc_status_t restore_inputs(size_t later, bool* out_restored) = 0;

  // Runs an entry point one instruction at a time, to find where something went
  // wrong. Nothing may be in flight.
  virtual mpc_status_t trace(uint32_t entry, Observer& observer) = 0;

  // From now on measures the work of each submission into `profile`, which must
  // outlive that; null stops measuring. Nothing may be in flight. On an error
  // nothing is measured.
  virtual mpc_status_t set_profile(Profile* profile) = 0;

  // The implementation of the library kernel that an instruction calls; "" for
  // a generated function.
  virtual std::string implementation(uint32_t entry, size_t index) const = 0;

  // A remark about what does not work as intended on the device, for people; or
  // "".
  virtual const std::string& note() const = 0;

  // The library kernels that were chosen for this device, in program order.
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

// Ranks whose devices add up memory without the host.
class DeviceRanks {
 public:
  virtual ~DeviceRanks() = default;
  // Adds up `count` f32 or f64 at `offset` of the states of all ranks, after
  // the work that is already queued, and waits for the sums. MPC_RANK_LOST if
  // another rank is gone.
  virtual mpc_status_t sum(uint64_t offset, uint64_t count,
                           mpc_dtype_t dtype) = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  // "cpu", "cuda:0 NVIDIA H200".
  virtual const std::string& name() const = 0;

  // Allocates memory for states and arena, zeroed and aligned to kAlignment;
  // both live as long as the device.
  virtual mpc_status_t allocate(uint64_t state_size, uint64_t arena_size) = 0;

  // The memory of the states or the arena, if the host may use it; otherwise
  // null.
  virtual uint8_t* host_memory(schema::Space) { return nullptr; }
  // Whether the system allocated the memory for the device alone, so that pages
  // may be given back.
  virtual bool owns_pages() const { return false; }

  // Copies bytes of the caller to or from [offset, offset + size) of a memory
  // space, after all work that is already queued, and waits for the copy.
  virtual mpc_status_t upload(schema::Space space, uint64_t offset,
                              const void* data, uint64_t size,
                              MemoryKind memory_kind = MemoryKind::kHost) = 0;
  virtual mpc_status_t download(
      schema::Space space, uint64_t offset, void* data, uint64_t size,
      MemoryKind memory_kind = MemoryKind::kHost) const = 0;

  // Finds out where `data` is; the caller claims that it is on `device`.
  // MPC_INVALID_ARGUMENT if it is neither on the host nor on this device.
  virtual mpc_status_t locate(mpc_device_t device, const void* data,
                              MemoryKind* out_memory_kind) const = 0;

  // Joins the devices of all ranks, which must all call it, after allocate().
  // `*out_ranks` stays null if the devices cannot add up memory, and `*out_why`
  // is the reason. They must not outlive the device.
  virtual mpc_status_t join_ranks(const mpc_communicator_t&,
                                  std::unique_ptr<DeviceRanks>*,
                                  std::string* out_why) {
    *out_why = "devices of this kind have no means for it";
    return nullptr;
  }

  // Loads the code and prepares every instruction.
  virtual mpc_status_t prepare(std::unique_ptr<Executable>* out_executable) = 0;
};

// A device and the variant of the program that it runs.
struct OpenedDevice {
  std::unique_ptr<Device> device;
  const schema::Variant* variant = nullptr;
  std::string note;  // Why "auto" chose no accelerator, for people; or "".
};

// Opens a device by name for a program, which must outlive it. The name is one
// of kernels/devices.def, for accelerators optionally with a number ("cuda:1"),
// or "auto": the first accelerator that can run the program's code, otherwise a
// host. MPC_UNAVAILABLE if this machine has no such device, MPC_INCOMPATIBLE if
// the device cannot run the program's code.
mpc_status_t open_device(const char* name, const mpc_program_t& program,
                         const DeviceOptions& options,
                         OpenedDevice* out_device);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_DEVICE_H_
