// Weight gradients of depthwise convolutions with wide windows.

#ifndef MPC_KERNELS_CPU_DEPTHWISE_H_
#define MPC_KERNELS_CPU_DEPTHWISE_H_

#include "kernels/cpu/cpu.h"

namespace mpc::kernels::cpu {

// Whether the convolution is one for which oneDNN has no specialized kernel:
// channels last, a filter per channel, windows wider than 3.
bool is_wide_depthwise(KernelId id, const ConvShape& shape);

std::unique_ptr<Kernel> make_depthwise_grad_weight(const ConvShape& shape,
                                                   const Context& context);

}  // namespace mpc::kernels::cpu

#endif  // MPC_KERNELS_CPU_DEPTHWISE_H_
