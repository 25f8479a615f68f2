#include "kernels/cpu/cpu.h"

#include <dnnl.hpp>

namespace mpc::kernels {
namespace {

// What runs in f16 too: it moves values, or adds them one by one.
bool computes_f16(KernelId id) {
  return id == KernelId::embedding || id == KernelId::embedding_grad;
}

bool is_f64(const KernelDesc& desc) {
  return !desc.operands.empty() && desc.operands[0].dtype == MPC_DTYPE_F64;
}

std::unique_ptr<Kernel> make_checked(const KernelDesc& desc,
                                     const Context& context,
                                     std::string* error) {
  switch (desc.id) {
    case KernelId::matmul: {
      MatmulShape shape;
      if (!parse_matmul(desc, &shape, error)) return nullptr;
      return cpu::make_matmul(shape, context);
    }
    case KernelId::conv:
    case KernelId::conv_bias:
    case KernelId::conv_grad_input:
    case KernelId::conv_grad_weight: {
      ConvShape shape;
      if (!parse_conv(desc, &shape, error)) return nullptr;
      return cpu::make_conv(desc.id, shape, context);
    }
    case KernelId::max_pool:
    case KernelId::max_pool_grad:
    case KernelId::average_pool:
    case KernelId::average_pool_grad: {
      PoolShape shape;
      if (!parse_pool(desc, &shape, error)) return nullptr;
      return cpu::make_pool(desc.id, shape, context);
    }
    case KernelId::attention:
    case KernelId::attention_grad: {
      AttentionShape shape;
      if (!parse_attention(desc, &shape, error)) return nullptr;
      return cpu::make_attention(desc.id, shape, context);
    }
    case KernelId::embedding:
    case KernelId::embedding_grad: {
      EmbeddingShape shape;
      if (!parse_embedding(desc, &shape, error)) return nullptr;
      return cpu::make_embedding(desc.id, shape, context);
    }
    case KernelId::copy:
    case KernelId::zero: {
      size_t bytes;
      if (!parse_bytes(desc, &bytes, error)) return nullptr;
      return cpu::make_bytes(desc.id, bytes, context);
    }
  }
  return nullptr;  // check_description knows every number.
}

}  // namespace

std::unique_ptr<Kernel> make_cpu_kernel(const KernelDesc& desc,
                                        const Context& context,
                                        std::string* error) {
  if (!check_description(desc, error)) return nullptr;
  if (context.threads < 1) {
    *error = "a kernel needs at least one thread, found " +
             std::to_string(context.threads);
    return nullptr;
  }
  const bool moves_bytes =
      desc.id == KernelId::copy || desc.id == KernelId::zero;
  if (!moves_bytes && is_f64(desc)) return make_reference_kernel(desc, error);
  if (!moves_bytes && !computes_f16(desc.id) &&
      desc.operands[0].dtype == MPC_DTYPE_F16) {
    *error = std::string(kernel_name(desc.id)) +
             ": this CPU computes f16 in f32, so operands must be widened "
             "to f32";
    return nullptr;
  }
  try {
    return make_checked(desc, context, error);
  } catch (const dnnl::error& failure) {
    *error = std::string(kernel_name(desc.id)) + " of " +
             mpc_dtype_name(desc.operands[0].dtype) +
             " is not available on this CPU: " + failure.what();
    return nullptr;
  }
}

}  // namespace mpc::kernels
