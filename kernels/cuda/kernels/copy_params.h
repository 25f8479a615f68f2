// The by-value parameter of the kernel of copy.cu.

#ifndef MPC_KERNELS_CUDA_KERNELS_COPY_PARAMS_H_
#define MPC_KERNELS_CUDA_KERNELS_COPY_PARAMS_H_

#include <cstddef>
#include <cstdint>

namespace mpc::kernels {

// Copies `bytes` bytes between addresses that the device can access, which do
// not overlap.
struct CopyPiece {
  uint64_t from, to, bytes;
};

constexpr size_t kMaxCopyPieces = 32;

struct CopyParams {
  CopyPiece pieces[kMaxCopyPieces];
  int32_t count;
};

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_KERNELS_COPY_PARAMS_H_
