// The interface of catalog kernels to the runtime on a CUDA device.

#ifndef MPC_KERNELS_CUDA_KERNEL_H_
#define MPC_KERNELS_CUDA_KERNEL_H_

#include <cstddef>
#include <memory>
#include <string>

#include "kernels/cuda/autotune_cache.h"
#include "kernels/cuda/cublaslt/cublaslt.h"
#include "kernels/cuda/cudnn/cudnn.h"
#include "kernels/cuda/driver/driver.h"
#include "kernels/kernel.h"

namespace mpc::kernels {

// Handles of libraries, modules and plans that the kernels of a device share;
// each is made when the first kernel needs it.
struct CudaShared;
std::shared_ptr<CudaShared> make_cuda_shared();

// Device memory that is unused while kernels are made.
struct IdleMemory {
  cuda::CUdeviceptr address = 0;
  size_t bytes = 0;
};

// One device, from the point of view of kernels. Kernels keep a copy of this;
// the objects that it points to, and the CUDA context, must outlive all copies.
struct CudaContext {
  const cuda::Driver* driver = nullptr;
  // Null if the library is absent, with the reason as text.
  const cuda::CublasLt* cublaslt = nullptr;
  const cuda::Cudnn* cudnn = nullptr;
  std::string cublaslt_missing, cudnn_missing;

  cuda::CUcontext context = nullptr;
  // The stream on which candidates are timed when a kernel is made.
  cuda::CUstream stream = nullptr;
  // Trials allocate their operands here as far as it suffices, and overwrite
  // its contents.
  IdleMemory idle;
  int compute_capability = 0;  // 80 for CUDA's 8.0.
  std::string device_name;
  // The folder in which choices by timing are stored between processes. Empty:
  // none.
  std::string cache_folder = default_cache_folder();
  // Choices made in this process or earlier ones.
  std::shared_ptr<AutotuneCaches> autotune_caches =
      std::make_shared<AutotuneCaches>();
  // Nothing is chosen by timing, and no sum is split in a way that may differ
  // from run to run.
  bool deterministic = false;

  std::shared_ptr<CudaShared> shared = make_cuda_shared();

  // $XDG_CACHE_HOME/mpc, else ~/.cache/mpc, else empty.
  static std::string default_cache_folder();
};

// NVIDIA libraries that kernels call, apart from the driver.
enum class CudaLibrary { cublaslt, cudnn };

// Returns true if make_cuda_kernel needs the library for this kernel. Unknown
// kernels need none.
bool needs_library(KernelId id, CudaLibrary library);

// A prepared call. Used by one thread at a time, with the CUDA context current.
class CudaKernel {
 public:
  virtual ~CudaKernel() = default;
  // The implementation, for display: "cublasLt:algo 66, 12.1 us".
  virtual std::string implementation() const = 0;
  // Bytes of scratch memory that the work needs, aligned to 256.
  virtual size_t workspace_bytes() const { return 0; }
  // Enqueues the work on `stream`, which may be capturing, so this neither
  // waits nor allocates device memory. `operands` has one address per operand
  // of the description, each aligned to 64 bytes. Outputs are overwritten and
  // must not overlap other operands, except as MPC_KERNEL_IN_PLACE allows.
  // Returns "" or what failed: "cublasLtMatmul:
  // CUBLAS_STATUS_EXECUTION_FAILED".
  virtual std::string enqueue(const cuda::CUdeviceptr* operands,
                              cuda::CUdeviceptr workspace,
                              cuda::CUstream stream) const = 0;
};

// Prepares a call on the device. The description is checked completely, as by
// make_cpu_kernel. Returns null, with the reason in `*error`, if it is invalid
// or cannot run here: a library is missing, or the device is too old.
// Candidates are timed on context.stream, in context.idle and in additional
// memory that is freed on return. So this waits, and must not be called while
// capturing. The chosen candidate has run once, if there was memory for it, so
// that a capture loads no code.
std::unique_ptr<CudaKernel> make_cuda_kernel(const KernelDesc& desc,
                                             const CudaContext& context,
                                             std::string* error);

// A problem with the shared parts of the kernels of this context, as text; ""
// if there is none.
std::string cuda_note(const CudaContext& context);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_KERNEL_H_
