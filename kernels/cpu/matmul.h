// Matrix products.

#ifndef MPC_KERNELS_CPU_MATMUL_H_
#define MPC_KERNELS_CPU_MATMUL_H_

#include "kernels/cpu/cpu.h"

namespace mpc::kernels::cpu {

inline double multiply_adds(const MatmulShape& shape) {
  double count = static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                 static_cast<double>(shape.k);
  for (const BatchDim& dim : shape.batch)
    count *= static_cast<double>(dim.extent);
  return count;
}

// A product of bf16 matrices by oneDNN. Leading dimensions must already have
// been merged into rows where possible.
std::unique_ptr<Kernel> make_dnnl_matmul(const MatmulShape& shape, int threads,
                                         bool deterministic);

}  // namespace mpc::kernels::cpu

#endif  // MPC_KERNELS_CPU_MATMUL_H_
