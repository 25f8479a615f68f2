// The instructions of a program as launches on a CUDA device. All functions and
// addresses are resolved once, before the first launch.

#ifndef MPC_RUNTIME_SRC_DEVICE_CUDA_CALLS_H_
#define MPC_RUNTIME_SRC_DEVICE_CUDA_CALLS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cuda/kernel.h"
#include "kernels/cuda/kernels/copies.h"
#include "runtime/src/device/cuda/resources.h"
#include "runtime/src/device/device.h"
#include "runtime/src/program/program.h"

namespace mpc::runtime {

// The base addresses of states and arena.
struct CudaAddresses {
  cuda::CUdeviceptr states = 0;
  cuda::CUdeviceptr arena = 0;

  cuda::CUdeviceptr at(schema::Space space, uint64_t offset) const {
    return (space == schema::Space::Arena ? arena : states) + offset;
  }
};

// A prepared instruction. Exactly one of `function` and `kernel` is set.
struct CudaCall {
  cuda::CUfunction function = nullptr;
  const kernels::CudaKernel* kernel = nullptr;
  const cuda::CUdeviceptr* operands = nullptr;
  void** parameters = nullptr;  // For `function`: pointers to the operands.
  uint32_t blocks = 1;
  uint32_t threads = 1;
  uint32_t shared_bytes = 0;
};

// The calls of all entry points, and the module and workspace that they need.
// The CUDA context must be current in all functions except the destructor.
class CudaCalls {
 public:
  CudaCalls(const Gpu& gpu, const mpc_program_t& program,
            const schema::Variant& variant, CudaAddresses addresses)
      : gpu_(gpu),
        program_(program),
        variant_(variant),
        addresses_(addresses) {}
  CudaCalls(const CudaCalls&) = delete;
  CudaCalls& operator=(const CudaCalls&) = delete;
  ~CudaCalls();

  // `code` is empty if there are no generated functions. Catalog kernels are
  // timed on `stream`, which must be idle and not capturing. They use the
  // memory `idle`, whose contents are lost.
  mpc_status_t prepare(const std::vector<const schema::Segment*>& code,
                       cuda::CUstream stream, bool deterministic,
                       kernels::IdleMemory idle);

  // The catalog kernels, in program order.
  const std::vector<Executable::Kernel>& kernels() const { return used_; }

  // A remark about what does not work as intended, for people; or "".
  const std::string& note() const { return note_; }

  // Null if this build has no kernel for copies on this device.
  const kernels::CudaCopies* copies() const {
    return copies_ && copies_->available() ? &*copies_ : nullptr;
  }

  size_t count(uint32_t entry) const { return entries_[entry].calls.size(); }

  // See Executable::implementation.
  std::string implementation(uint32_t entry, size_t index) const {
    const kernels::CudaKernel* kernel = entries_[entry].calls[index].kernel;
    return kernel ? kernel->implementation() : "";
  }

  // Queues one call, or all calls of an entry point, on `stream`, which may be
  // capturing. MPC_DEVICE_LOST if that fails.
  mpc_status_t enqueue(uint32_t entry, size_t index,
                       cuda::CUstream stream) const;
  mpc_status_t enqueue_all(uint32_t entry, cuda::CUstream stream) const;

 private:
  struct Entry {
    std::vector<cuda::CUdeviceptr>
        operands;                   // Operands of all calls, concatenated.
    std::vector<void*> parameters;  // A pointer to each operand.
    std::vector<CudaCall> calls;
  };

  mpc_status_t find_functions(const std::vector<const schema::Segment*>& code);
  void find_libraries(kernels::CudaContext* context) const;
  bool needs_library(kernels::CudaLibrary library) const;
  mpc_status_t prepare_entry(const schema::Entry& entry,
                             const kernels::CudaContext& context);
  mpc_status_t prepare_call(const schema::Instruction& instruction,
                            const schema::Entry& entry,
                            const kernels::CudaContext& context,
                            CudaCall* call);
  mpc_status_t provide_shared(uint32_t wanted, CudaCall* call) const;

  const Gpu& gpu_;
  const mpc_program_t& program_;
  const schema::Variant& variant_;
  const CudaAddresses addresses_;
  CudaModule module_;
  std::vector<cuda::CUfunction> functions_;
  // The key is that of key_of: equal calls share a kernel.
  struct Prepared {
    std::unique_ptr<kernels::CudaKernel> kernel;
    size_t index;  // In `used_`.
  };
  std::map<std::vector<int64_t>, Prepared> kernels_;
  std::optional<kernels::CudaCopies> copies_;
  std::vector<Executable::Kernel> used_;
  size_t workspace_size_ = 0;
  DeviceMemory workspace_;  // Shared by all calls, which run one at a time.
  std::vector<Entry> entries_;
  std::string note_;
};

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_CUDA_CALLS_H_
