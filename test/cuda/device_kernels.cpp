#include "test/cuda/device_kernels.h"

#include <utility>

#include "kernels/cuda/attention_params.h"
#include "kernels/cuda/pool_params.h"
#include "kernels/float_types.h"
#include "test/device_sim/device_sim.h"

using mpc::kernels::AttentionParams;
using mpc::kernels::Bf16;
using mpc::kernels::F16;
using mpc::kernels::PoolParams;

// As the .cu files define them; the parameters' types are theirs, by name.
#define MPC_POOL_KERNELS(suffix, T)                                          \
  extern "C" void mpc_max_pool_##suffix(PoolParams, const T*, T*, uint8_t*); \
  extern "C" void mpc_max_pool_grad_##suffix(PoolParams, const T*,           \
                                             const uint8_t*, T*);            \
  extern "C" void mpc_average_pool_##suffix(PoolParams, const T*, T*);       \
  extern "C" void mpc_average_pool_grad_##suffix(PoolParams, const T*, T*);
MPC_POOL_KERNELS(f32, float)
MPC_POOL_KERNELS(bf16, Bf16)
MPC_POOL_KERNELS(f16, F16)
#undef MPC_POOL_KERNELS
#define MPC_ATTENTION_KERNELS(suffix, T)                                    \
  extern "C" void mpc_attention_softmax_##suffix(AttentionParams,           \
                                                 const float*, T*, float*); \
  extern "C" void mpc_attention_softmax_grad_##suffix(                      \
      AttentionParams, const float*, const float*, const float*, const T*,  \
      const T*, T*, T*);
MPC_ATTENTION_KERNELS(f32, float)
MPC_ATTENTION_KERNELS(bf16, Bf16)
MPC_ATTENTION_KERNELS(f16, F16)
#undef MPC_ATTENTION_KERNELS
extern "C" void mpc_channels_first(const float*, float*, int64_t, int64_t,
                                   int64_t);
extern "C" void mpc_widen_bf16(const Bf16*, float*, int64_t);
extern "C" void mpc_widen_f16(const F16*, float*, int64_t);

namespace mpc::test {
namespace {

// Reads parameter i as cuLaunchKernel does: through the i-th pointer.
template <class... Parameters, size_t... I>
void call(void (*kernel)(Parameters...), void** parameters,
          std::index_sequence<I...>) {
  kernel(*static_cast<Parameters*>(parameters[I])...);
}

template <class... Parameters>
HostDriver::Kernel simulated(void (*kernel)(Parameters...)) {
  return [kernel](const HostDriver::Grid& grid, void** parameters) {
    return device_sim::run({{grid.grid[0], grid.grid[1], grid.grid[2]},
                            {grid.block[0], grid.block[1], grid.block[2]},
                            grid.shared_bytes},
                           [&] {
                             call(kernel, parameters,
                                  std::index_sequence_for<Parameters...>());
                           });
  };
}

}  // namespace

#define MPC_ADD_POOL(suffix)          \
  MPC_ADD(mpc_max_pool_##suffix)      \
  MPC_ADD(mpc_max_pool_grad_##suffix) \
  MPC_ADD(mpc_average_pool_##suffix)  \
  MPC_ADD(mpc_average_pool_grad_##suffix)
#define MPC_ADD_ATTENTION(suffix)         \
  MPC_ADD(mpc_attention_softmax_##suffix) \
  MPC_ADD(mpc_attention_softmax_grad_##suffix)
#define MPC_ADD_ALL()         \
  MPC_ADD_ATTENTION(f32)      \
  MPC_ADD_ATTENTION(bf16)     \
  MPC_ADD_ATTENTION(f16)      \
  MPC_ADD_POOL(f32)           \
  MPC_ADD_POOL(bf16)          \
  MPC_ADD_POOL(f16)           \
  MPC_ADD(mpc_channels_first) \
  MPC_ADD(mpc_widen_bf16)     \
  MPC_ADD(mpc_widen_f16)

void add_device_kernels(HostDriver* driver) {
#define MPC_ADD(name) driver->kernels[#name] = simulated(name);
  MPC_ADD_ALL()
#undef MPC_ADD
}

void add_device_kernels(FakeDriver* driver) {
#define MPC_ADD(name) driver->add_kernel(#name, name);
  MPC_ADD_ALL()
#undef MPC_ADD
}

}  // namespace mpc::test
