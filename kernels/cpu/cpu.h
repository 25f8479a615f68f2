// The parts of make_cpu_kernel. Each throws dnnl::error if oneDNN has no
// implementation; make_cpu_kernel turns that into an error message.

#ifndef MPC_KERNELS_CPU_CPU_H_
#define MPC_KERNELS_CPU_CPU_H_

#include <algorithm>
#include <memory>

#include "kernels/cpu/team/team.h"
#include "kernels/kernel.h"
#include "kernels/shapes.h"

namespace mpc::kernels::cpu {

std::unique_ptr<Kernel> make_matmul(const MatmulShape& shape,
                                    const Context& context);
std::unique_ptr<Kernel> make_conv(KernelId id, const ConvShape& shape,
                                  const Context& context);
std::unique_ptr<Kernel> make_pool(KernelId id, const PoolShape& shape,
                                  const Context& context);
std::unique_ptr<Kernel> make_attention(const AttentionShape& shape,
                                       const Context& context);
std::unique_ptr<Kernel> make_recurrent(const RecurrentShape& shape,
                                       const Context& context);
std::unique_ptr<Kernel> make_embedding(KernelId id, const EmbeddingShape& shape,
                                       const Context& context);
std::unique_ptr<Kernel> make_observe(KernelId id, const ObserveShape& shape,
                                     const Context& context);
std::unique_ptr<Kernel> make_bytes(KernelId id, size_t bytes,
                                   const Context& context);

// Features that the CPU has and that may be used (kernels/cpu_isa.h).
bool has_avx2();    // With F16C and FMA.
bool has_avx512();  // With BW, DQ, VL.
bool has_avx512_bf16();
// Whether products of bf16 run faster with the instructions for them than in
// f32. Intel's CPUs without AMX multiply bf16 at half the rate of f32.
bool has_fast_bf16();

// The number of threads to use. Waking a thread costs about as much as `grain`
// units of work, so threads with less work do not pay.
inline int threads_for(double work, double grain, int threads) {
  return static_cast<int>(
      std::clamp(work / grain, 1.0, static_cast<double>(threads)));
}

}  // namespace mpc::kernels::cpu

#endif  // MPC_KERNELS_CPU_CPU_H_
