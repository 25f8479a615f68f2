// How kernels divide their workspace.

#ifndef MPC_KERNELS_CUDA_WORKSPACE_H_
#define MPC_KERNELS_CUDA_WORKSPACE_H_

#include <cstddef>

namespace mpc::kernels {

// The size of a part of a workspace, so that the next part is aligned to 256
// bytes as the workspace itself is.
constexpr size_t aligned(size_t bytes) {
  constexpr size_t kAlignment = 256;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_WORKSPACE_H_
