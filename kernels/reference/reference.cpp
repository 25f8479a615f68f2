#include "kernels/reference/reference.h"

#include <cstring>

namespace mpc::kernels {
namespace reference {
namespace {

void copy(const size_t& bytes, void* const* operands) {
  std::memmove(operands[1], operands[0], bytes);
}

void zero(const size_t& bytes, void* const* operands) {
  std::memset(operands[0], 0, bytes);
}

}  // namespace

std::unique_ptr<Kernel> make_bytes(KernelId id, size_t bytes) {
  return std::make_unique<ReferenceKernel<size_t>>(
      bytes, id == KernelId::copy ? copy : zero);
}

}  // namespace reference

std::unique_ptr<Kernel> make_reference_kernel(const KernelDesc& desc,
                                              std::string* error) {
  if (!check_description(desc, error)) return nullptr;
  switch (desc.id) {
    case KernelId::matmul:
    case KernelId::matmul_add:
    case KernelId::matmul_bias:
    case KernelId::matmul_gelu:
    case KernelId::matmul_gelu_grad:
    case KernelId::scaled_matmul: {
      MatmulShape shape;
      if (!parse_matmul(desc, &shape, error) ||
          !computes_in_memory_type(shape, error))
        return nullptr;
      return reference::make_matmul(shape);
    }
    case KernelId::conv:
    case KernelId::conv_bias:
    case KernelId::conv_grad_input:
    case KernelId::conv_grad_weight: {
      ConvShape shape;
      if (!parse_conv(desc, &shape, error)) return nullptr;
      return reference::make_conv(desc.id, shape);
    }
    case KernelId::max_pool:
    case KernelId::max_pool_grad:
    case KernelId::average_pool:
    case KernelId::average_pool_grad: {
      PoolShape shape;
      if (!parse_pool(desc, &shape, error)) return nullptr;
      return reference::make_pool(desc.id, shape);
    }
    MPC_CASES_OF_ATTENTION : {
      AttentionShape shape;
      if (!parse_attention(desc, &shape, error)) return nullptr;
      return reference::make_attention(desc.id, shape);
    }
    case KernelId::lstm:
    case KernelId::lstm_grad:
    case KernelId::gru:
    case KernelId::gru_grad: {
      RecurrentShape shape;
      if (!parse_recurrent(desc, &shape, error)) return nullptr;
      return reference::make_recurrent(desc.id, shape);
    }
    case KernelId::embedding:
    case KernelId::embedding_grad: {
      EmbeddingShape shape;
      if (!parse_embedding(desc, &shape, error)) return nullptr;
      return reference::make_embedding(desc.id, shape);
    }
    case KernelId::observe:
    case KernelId::rounding: {
      ObserveShape shape;
      if (!parse_observe(desc, &shape, error)) return nullptr;
      return reference::make_observe(desc.id, shape);
    }
    case KernelId::copy:
    case KernelId::zero: {
      size_t bytes;
      if (!parse_bytes(desc, &bytes, error)) return nullptr;
      return reference::make_bytes(desc.id, bytes);
    }
    case KernelId::mean_over_ranks: {
      size_t bytes;
      if (!parse_mean_over_ranks(desc, &bytes, error)) return nullptr;
      return reference::make_bytes(KernelId::copy, bytes);
    }
  }
  return nullptr;  // check_description knows every number.
}

}  // namespace mpc::kernels
