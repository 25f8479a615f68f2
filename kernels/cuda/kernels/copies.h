// Copies of a few small pieces of memory by one kernel, on the device or
// between it and pinned host memory. A copy by the driver runs on another
// engine than kernels: waiting for it, and it for them, costs a step of small
// kernels 10 us on an H100.

#ifndef MPC_KERNELS_CUDA_KERNELS_COPIES_H_
#define MPC_KERNELS_CUDA_KERNELS_COPIES_H_

#include <string>

#include "kernels/cuda/kernel.h"
#include "kernels/cuda/kernels/copy_params.h"

namespace mpc::kernels {

class CudaCopies {
 public:
  explicit CudaCopies(const CudaContext& context);

  // False if this build has no code for this device; then do not call enqueue.
  bool available() const { return function_ != nullptr; }

  // Enqueues at most kMaxCopyPieces copies. Returns "" or what failed.
  std::string enqueue(const CopyParams& pieces, cuda::CUstream stream) const;

 private:
  const CudaContext context_;  // A copy, which keeps the module.
  cuda::CUfunction function_ = nullptr;
};

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_KERNELS_COPIES_H_
