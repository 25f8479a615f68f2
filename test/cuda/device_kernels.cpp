#include "test/cuda/device_kernels.h"

#include <utility>

#include "kernels/cuda/depthwise/depthwise_params.h"
#include "kernels/cuda/kernels/attention_params.h"
#include "kernels/cuda/kernels/copy_params.h"
#include "kernels/cuda/kernels/embedding_params.h"
#include "kernels/cuda/kernels/pool_params.h"
#include "kernels/float_types.h"
#include "test/device_sim/device_sim.h"

using mpc::kernels::AttentionParams;
using mpc::kernels::Bf16;
using mpc::kernels::CopyParams;
using mpc::kernels::DepthwiseParams;
using mpc::kernels::DepthwiseWeightParams;
using mpc::kernels::EmbeddingParams;
using mpc::kernels::EmbeddingSortParams;
using mpc::kernels::EmbeddingSumParams;
using mpc::kernels::F16;
using mpc::kernels::HeadCopyParams;
using mpc::kernels::PoolParams;

// Declared as in the .cu files, with the same parameter types.
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
#define MPC_ATTENTION_KERNELS(suffix, T)                                       \
  extern "C" void mpc_attention_softmax_##suffix(                              \
      AttentionParams, const float*, T*, float*, float*);                      \
  extern "C" void mpc_attention_softmax_grad_##suffix(                         \
      AttentionParams, const float*, const float*, const float*, const float*, \
      const T*, const T*, T*, T*, float*);
MPC_ATTENTION_KERNELS(f32, float)
MPC_ATTENTION_KERNELS(bf16, Bf16)
MPC_ATTENTION_KERNELS(f16, F16)
#undef MPC_ATTENTION_KERNELS
extern "C" void mpc_attention_bias_grad(AttentionParams, const float*, float*,
                                        int64_t);
extern "C" void mpc_copy_pieces(CopyParams);
extern "C" void mpc_depthwise(DepthwiseParams, const void*, const void*,
                              const void*, void*);
extern "C" void mpc_depthwise_grad_weight(DepthwiseWeightParams, const void*,
                                          const void*, float*);
extern "C" void mpc_depthwise_sum(const float*, float*, int64_t, int32_t,
                                  int32_t);
extern "C" void mpc_attention_copy_2(const uint16_t*, uint16_t*,
                                     HeadCopyParams);
extern "C" void mpc_attention_copy_4(const uint32_t*, uint32_t*,
                                     HeadCopyParams);
extern "C" void mpc_channels_first(const float*, float*, int64_t, int64_t,
                                   int64_t);
extern "C" void mpc_channels_last(const uint16_t*, uint16_t*, int64_t, int64_t,
                                  int64_t);
#define MPC_EMBEDDING_KERNELS(suffix, Index)                                 \
  extern "C" void mpc_embedding_2_##suffix(EmbeddingParams, const uint16_t*, \
                                           const Index*, uint16_t*);         \
  extern "C" void mpc_embedding_4_##suffix(EmbeddingParams, const uint32_t*, \
                                           const Index*, uint32_t*);         \
  extern "C" void mpc_embedding_8_##suffix(EmbeddingParams, const void*,     \
                                           const Index*, void*);             \
  extern "C" void mpc_embedding_16_##suffix(EmbeddingParams, const void*,    \
                                            const Index*, void*);            \
  extern "C" void mpc_embedding_count_##suffix(EmbeddingSortParams,          \
                                               const Index*, uint32_t*);     \
  extern "C" void mpc_embedding_move_##suffix(                               \
      EmbeddingSortParams, const Index*, const uint32_t*, const uint32_t*,   \
      uint32_t*, uint32_t*);
MPC_EMBEDDING_KERNELS(i32, int32_t)
MPC_EMBEDDING_KERNELS(i64, int64_t)
#undef MPC_EMBEDDING_KERNELS
extern "C" void mpc_embedding_count(EmbeddingSortParams, const uint32_t*,
                                    uint32_t*);
extern "C" void mpc_embedding_offsets(EmbeddingSortParams, uint32_t*,
                                      uint32_t*);
extern "C" void mpc_embedding_move(EmbeddingSortParams, const uint32_t*,
                                   const uint32_t*, const uint32_t*,
                                   const uint32_t*, uint32_t*, uint32_t*);
#define MPC_EMBEDDING_SUM(suffix, T)                                  \
  extern "C" void mpc_embedding_sum_##suffix(                         \
      EmbeddingSumParams, const uint32_t*, const uint32_t*, const T*, \
      const uint32_t*, uint32_t*, float*, float*);
MPC_EMBEDDING_SUM(f32, float)
MPC_EMBEDDING_SUM(f32x4, float)
MPC_EMBEDDING_SUM(bf16, Bf16)
MPC_EMBEDDING_SUM(bf16x8, Bf16)
MPC_EMBEDDING_SUM(f16, F16)
MPC_EMBEDDING_SUM(f16x8, F16)
#undef MPC_EMBEDDING_SUM
#define MPC_OBSERVE_KERNELS(suffix, T)                              \
  extern "C" void mpc_observe_##suffix(int64_t, const T*, double*); \
  extern "C" void mpc_rounding_##suffix(int64_t, const T*, const T*, double*);
MPC_OBSERVE_KERNELS(f32, float)
MPC_OBSERVE_KERNELS(bf16, Bf16)
MPC_OBSERVE_KERNELS(f16, F16)
#undef MPC_OBSERVE_KERNELS
#define MPC_EPILOGUE_KERNELS(suffix, T)                                  \
  extern "C" void mpc_bias_##suffix(const T*, T*, int64_t, int64_t);     \
  extern "C" void mpc_gelu_##suffix(const T*, T*, T*, int64_t, int64_t); \
  extern "C" void mpc_gelu_grad_##suffix(const T*, T*, int64_t);
MPC_EPILOGUE_KERNELS(bf16, Bf16)
MPC_EPILOGUE_KERNELS(f16, F16)
#undef MPC_EPILOGUE_KERNELS
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
#define MPC_ADD_EMBEDDING(suffix)       \
  MPC_ADD(mpc_embedding_2_##suffix)     \
  MPC_ADD(mpc_embedding_4_##suffix)     \
  MPC_ADD(mpc_embedding_8_##suffix)     \
  MPC_ADD(mpc_embedding_16_##suffix)    \
  MPC_ADD(mpc_embedding_count_##suffix) \
  MPC_ADD(mpc_embedding_move_##suffix)
#define MPC_ADD_OBSERVE(suffix) \
  MPC_ADD(mpc_observe_##suffix) \
  MPC_ADD(mpc_rounding_##suffix)
#define MPC_ADD_ALL()                \
  MPC_ADD(mpc_attention_bias_grad)   \
  MPC_ADD(mpc_copy_pieces)           \
  MPC_ADD(mpc_depthwise)             \
  MPC_ADD(mpc_depthwise_grad_weight) \
  MPC_ADD(mpc_depthwise_sum)         \
  MPC_ADD(mpc_attention_copy_2)      \
  MPC_ADD(mpc_attention_copy_4)      \
  MPC_ADD_EMBEDDING(i32)             \
  MPC_ADD_EMBEDDING(i64)             \
  MPC_ADD(mpc_embedding_count)       \
  MPC_ADD(mpc_embedding_offsets)     \
  MPC_ADD(mpc_embedding_move)        \
  MPC_ADD(mpc_embedding_sum_f32)     \
  MPC_ADD(mpc_embedding_sum_f32x4)   \
  MPC_ADD(mpc_embedding_sum_bf16)    \
  MPC_ADD(mpc_embedding_sum_bf16x8)  \
  MPC_ADD(mpc_embedding_sum_f16)     \
  MPC_ADD(mpc_embedding_sum_f16x8)   \
  MPC_ADD_ATTENTION(f32)             \
  MPC_ADD_ATTENTION(bf16)            \
  MPC_ADD_ATTENTION(f16)             \
  MPC_ADD_OBSERVE(f32)               \
  MPC_ADD_OBSERVE(bf16)              \
  MPC_ADD_OBSERVE(f16)               \
  MPC_ADD_POOL(f32)                  \
  MPC_ADD_POOL(bf16)                 \
  MPC_ADD_POOL(f16)                  \
  MPC_ADD(mpc_bias_bf16)             \
  MPC_ADD(mpc_bias_f16)              \
  MPC_ADD(mpc_gelu_bf16)             \
  MPC_ADD(mpc_gelu_f16)              \
  MPC_ADD(mpc_gelu_grad_bf16)        \
  MPC_ADD(mpc_gelu_grad_f16)         \
  MPC_ADD(mpc_channels_first)        \
  MPC_ADD(mpc_channels_last)         \
  MPC_ADD(mpc_widen_bf16)            \
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
