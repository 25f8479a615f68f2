// What a kernel of the catalog looks like to the runtime on a CUDA device.

#ifndef MPC_KERNELS_CUDA_KERNEL_H_
#define MPC_KERNELS_CUDA_KERNEL_H_

#include <cstddef>
#include <memory>
#include <string>

#include "kernels/cuda/choices.h"
#include "kernels/cuda/cublaslt/cublaslt.h"
#include "kernels/cuda/cudnn/cudnn.h"
#include "kernels/cuda/driver/driver.h"
#include "kernels/kernel.h"

namespace mpc::kernels {

// Handles of libraries, modules and plans that kernels of one device have in
// common; each is made when the first kernel needs it.
struct CudaShared;
std::shared_ptr<CudaShared> make_cuda_shared();

// Memory of the device that nobody uses while kernels are made.
struct IdleMemory {
  cuda::CUdeviceptr address = 0;
  size_t bytes = 0;
};

// One device, as kernels see it. Kernels keep a copy; what the pointers point
// at, and the CUDA context, must outlive them and every copy of this.
struct CudaContext {
  const cuda::Driver* driver = nullptr;
  // Null where the library is absent, with the reason in words.
  const cuda::CublasLt* cublaslt = nullptr;
  const cuda::Cudnn* cudnn = nullptr;
  std::string cublaslt_missing, cudnn_missing;

  cuda::CUcontext context = nullptr;
  // What making a kernel runs on to time candidates.
  cuda::CUstream stream = nullptr;
  // Trials take their operands from here, as far as it goes. Its contents are
  // lost.
  IdleMemory idle;
  int compute_capability = 0;  // 80: what CUDA calls 8.0.
  std::string device_name;
  // Where choices by time are kept between processes. Empty: nowhere.
  std::string cache_folder = default_cache_folder();
  // Those that were made in this process, or by earlier ones.
  std::shared_ptr<ChoiceStore> choices = std::make_shared<ChoiceStore>();
  // Nothing is chosen by time and no sum is cut in a way that may differ from
  // run to run.
  bool deterministic = false;

  std::shared_ptr<CudaShared> shared = make_cuda_shared();

  // $XDG_CACHE_HOME/mpc, else ~/.cache/mpc, else empty.
  static std::string default_cache_folder();
};

// What kernels call of NVIDIA's, beside the driver.
enum class CudaLibrary { cublaslt, cudnn };

// Returns true if make_cuda_kernel wants the library in its context for this
// kernel. An unknown kernel wants none.
bool calls_library(KernelId id, CudaLibrary library);

// A call made ready. Used by one thread at a time, the context being current.
class CudaKernel {
 public:
  virtual ~CudaKernel() = default;
  // What computes it, for people: "cublasLt:algo 66, 12.1 us".
  virtual std::string implementation() const = 0;
  // Bytes of scratch memory that the work needs, aligned to 256.
  virtual size_t workspace_bytes() const { return 0; }
  // Queues the work on `stream`, which may be capturing: nothing is waited for
  // and no device memory taken. `operands` has one address per operand of the
  // description, each aligned to 64 bytes. Outputs are overwritten and must not
  // overlap other operands. Returns an empty string or what failed:
  // "cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED".
  virtual std::string enqueue(const cuda::CUdeviceptr* operands,
                              cuda::CUdeviceptr workspace,
                              cuda::CUstream stream) const = 0;
};

// Makes a call ready on the device. The description is checked in full, as
// make_cpu_kernel does. Returns null and says why in `*error` where it is wrong
// or cannot run here: a library is missing, or the device is too old.
// Candidates are timed on context.stream, in context.idle and in memory of
// their own, which is free again on return; so this waits, and must not run
// while capturing. What it chose has run once, if there was room, so that a
// capture loads no code.
std::unique_ptr<CudaKernel> make_cuda_kernel(const KernelDesc& desc,
                                             const CudaContext& context,
                                             std::string* error);

// What is not as it should be with what the kernels of this context share, for
// people; empty if nothing is.
std::string cuda_note(const CudaContext& context);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_KERNEL_H_
