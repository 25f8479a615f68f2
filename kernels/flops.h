// The arithmetic of catalog kernels.

#ifndef MPC_KERNELS_FLOPS_H_
#define MPC_KERNELS_FLOPS_H_

#include <cstdint>

#include "kernels/kernel.h"

namespace mpc::kernels {

// The floating-point operations of a call, where a multiply-add counts as two:
// those that its definition requires, as the compiler's report counts them,
// whatever the implementation does. 0 for kernels that only move or inspect
// elements, and for descriptions that are not valid.
uint64_t count_flops(const KernelDesc& desc);

// Whether GPUs may multiply the f32 operands of the call in TF32.
bool may_use_tf32(const KernelDesc& desc);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_FLOPS_H_
