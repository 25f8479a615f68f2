// Runs entry points on a CUDA device: copies inputs through pinned memory,
// launches one graph per entry point, and reads values back after it. In steps
// the host waits only for the event of a submission, never for the whole
// stream. While a session profiles, calls are launched one by one between
// events.

#ifndef MPC_RUNTIME_SRC_DEVICE_CUDA_EXECUTABLE_H_
#define MPC_RUNTIME_SRC_DEVICE_CUDA_EXECUTABLE_H_

#include <string>
#include <vector>

#include "runtime/src/device/cuda/calls.h"
#include "runtime/src/device/cuda/marks.h"
#include "runtime/src/device/device.h"

namespace mpc::runtime {

class CudaExecutable : public Executable {
 public:
  // Work is queued on `stream`; both outlive this.
  CudaExecutable(const Gpu& gpu, const mpc_program_t& program,
                 const schema::Variant& variant, CudaAddresses addresses,
                 cuda::CUstream stream)
      : gpu_(gpu),
        variant_(variant),
        addresses_(addresses),
        stream_(stream),
        calls_(gpu, program, variant, addresses) {}
  ~CudaExecutable() override;

  // As CudaCalls::prepare.
  mpc_status_t prepare(const std::vector<const schema::Segment*>& code,
                       bool deterministic, kernels::IdleMemory idle);

  mpc_status_t submit(const Submission& submission) override;
  mpc_status_t wait(Values* out_values) override;
  size_t depth() const override { return kSlots - 1; }
  mpc_status_t restore_inputs(size_t later, bool* out_restored) override;
  mpc_status_t trace(uint32_t entry, Observer& observer) override;
  mpc_status_t set_profile(Profile* profile) override;
  std::string implementation(uint32_t entry, size_t index) const override {
    return calls_.implementation(entry, index);
  }
  const std::string& note() const override { return note_; }
  const std::vector<Kernel>& kernels() const override {
    return calls_.kernels();
  }

 private:
  // The memory and events of a submission in flight. Values that are close to
  // each other in memory are read by one copy into a window.
  struct Slot {
    PinnedMemory inputs;  // The inputs in host memory, concatenated.
    std::vector<Input>
        sources;  // Inputs of the submission. Their data may be gone.
    // Device memory that receives large inputs while the previous step runs.
    DeviceMemory landing;
    CudaEvent landed;
    PinnedMemory windows;
    CudaEvent done;
    CudaMarks marks;  // Used while the session profiles.
    // Where each value arrives in the windows.
    const uint8_t* places[kMaxValues] = {};
    uint32_t sizes[kMaxValues] = {};
    size_t num_values = 0;
  };
  static constexpr size_t kSlots = 2;

  mpc_status_t queue(const Submission& submission, Slot& slot);
  mpc_status_t queue_measured(const Submission& submission, Slot& slot);
  mpc_status_t queue_calls_measured(uint32_t entry, CudaMarks& marks);
  mpc_status_t queue_inputs(const Submission& submission, const Slot& slot);
  mpc_status_t queue_small_inputs(const Submission& submission,
                                  const Slot& slot);
  mpc_status_t queue_values(const Submission& submission, size_t entries_done,
                            Slot& slot);
  mpc_status_t queue_pieces(const kernels::CopyParams& pieces,
                            const char* what);
  kernels::CopyPiece take_window(const Submission& submission, size_t first,
                                 Slot& slot);
  mpc_status_t queue_entry(uint32_t entry);
  mpc_status_t trace_calls(uint32_t entry, Observer& observer);
  mpc_status_t queue_large_inputs(const Submission& submission,
                                  const Slot& slot);
  mpc_status_t copy_from_device(const Input& input, uint64_t size);
  uint64_t most_input_bytes() const;
  size_t most_inputs() const;

  const Gpu& gpu_;
  const schema::Variant& variant_;
  const CudaAddresses addresses_;
  const cuda::CUstream stream_;
  CudaStream side_stream_;  // For captures, trials and large inputs.
  CudaCalls calls_;
  Slot slots_[kSlots];
  uint64_t num_submitted_ = 0;
  uint64_t num_waited_ = 0;
  // The graph of an entry point, captured at its first use.
  struct Graph {
    bool tried = false;
    CudaGraphExec executable;
  };
  std::vector<Graph> graphs_;
  bool lacks_graphs_ = false;
  std::string note_;
  Profile* profile_ = nullptr;  // Null: nothing is measured.
  CudaEvent profile_origin_;    // At the time profile_origin_ns_.
  uint64_t profile_origin_ns_ = 0;
};

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_CUDA_EXECUTABLE_H_
