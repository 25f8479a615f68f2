// Matrix products.

#ifndef MPC_KERNELS_CPU_MATMUL_H_
#define MPC_KERNELS_CPU_MATMUL_H_

#include "kernels/cpu/cpu.h"

namespace mpc::kernels::cpu {

// A product of 16-bit matrices, computed by f32 products; gives the same bits
// for any number of threads if `deterministic`. Leading dimensions must already
// have been merged into rows where possible.
std::unique_ptr<Kernel> make_widened_matmul(const MatmulShape& shape,
                                            int threads, bool deterministic);

}  // namespace mpc::kernels::cpu

#endif  // MPC_KERNELS_CPU_MATMUL_H_
