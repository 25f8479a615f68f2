#include "kernels/cuda/kernel.h"

#include "kernels/cuda/depthwise/depthwise.h"
#include "kernels/cuda/families.h"
#include "kernels/shapes.h"

namespace mpc::kernels {
namespace {

bool moves_bytes(KernelId id) {
  return id == KernelId::copy || id == KernelId::zero;
}

// Checks that the device supports operands of this type.
bool check_dtype(mpc_dtype_t dtype, const CudaContext& context,
                 std::string* error) {
  if (dtype == MPC_DTYPE_F64) {
    *error = "f64 is not computed on CUDA; compile for cpu";
    return false;
  }
  const auto needs = [&](int capability, const char* instead) {
    const auto text = [](int number) {
      return std::to_string(number / 10) + "." + std::to_string(number % 10);
    };
    if (context.compute_capability >= capability) return true;
    *error = std::string(mpc_dtype_name(dtype)) + " needs compute capability " +
             text(capability) + ", " + context.device_name + " has " +
             text(context.compute_capability) +
             "; compile with option 'precision'=" + instead;
    return false;
  };
  if (dtype == MPC_DTYPE_BF16) return needs(80, "fp16");
  if (dtype == MPC_DTYPE_F8E4M3 || dtype == MPC_DTYPE_F8E5M2)
    return needs(89, "bf16");
  return true;
}

std::unique_ptr<CudaKernel> make_checked(const KernelDesc& desc,
                                         const CudaContext& context,
                                         std::string* error) {
  const std::string name = std::string(kernel_name(desc.id)) + ": ";
  std::string why;
  std::unique_ptr<CudaKernel> kernel;
  switch (desc.id) {
    case KernelId::matmul:
    case KernelId::matmul_add:
    case KernelId::matmul_bias:
    case KernelId::matmul_gelu:
    case KernelId::matmul_gelu_grad:
    case KernelId::scaled_matmul: {
      MatmulShape shape;
      if (!parse_matmul(desc, &shape, error)) return nullptr;
      kernel = make_cuda_matmul(shape, context, &why);
      break;
    }
    case KernelId::conv:
    case KernelId::conv_bias:
    case KernelId::conv_grad_input:
    case KernelId::conv_grad_weight: {
      ConvShape shape;
      if (!parse_conv(desc, &shape, error)) return nullptr;
      kernel = is_depthwise(desc.id, shape)
                   ? make_depthwise(desc.id, shape, context, &why)
                   : make_cuda_conv(desc.id, shape, context, &why);
      break;
    }
    case KernelId::max_pool:
    case KernelId::max_pool_grad:
    case KernelId::average_pool:
    case KernelId::average_pool_grad: {
      PoolShape shape;
      if (!parse_pool(desc, &shape, error)) return nullptr;
      kernel = make_cuda_pool(desc.id, shape, context, &why);
      break;
    }
    MPC_CASES_OF_ATTENTION : {
      AttentionShape shape;
      if (!parse_attention(desc, &shape, error)) return nullptr;
      kernel = make_cuda_attention(shape, context, &why);
      break;
    }
    case KernelId::lstm:
    case KernelId::lstm_grad:
    case KernelId::gru:
    case KernelId::gru_grad:
      why = "has no kernel for CUDA; compile the model for target cuda";
      break;
    case KernelId::embedding:
    case KernelId::embedding_grad: {
      EmbeddingShape shape;
      if (!parse_embedding(desc, &shape, error)) return nullptr;
      kernel = desc.id == KernelId::embedding
                   ? make_cuda_embedding(shape, context, &why)
                   : make_cuda_embedding_grad(shape, context, &why);
      break;
    }
    case KernelId::observe:
    case KernelId::rounding: {
      ObserveShape shape;
      if (!parse_observe(desc, &shape, error)) return nullptr;
      kernel = make_cuda_observe(desc.id, shape, context, &why);
      break;
    }
    case KernelId::copy:
    case KernelId::zero: {
      size_t bytes;
      if (!parse_bytes(desc, &bytes, error)) return nullptr;
      return make_cuda_bytes(desc.id, bytes, context);
    }
    case KernelId::mean_over_ranks:
      why = ": has no kernel for GPUs; compile the model for target cpu";
      break;
  }
  if (!kernel) *error = name + why;
  return kernel;
}

}  // namespace

bool needs_library(KernelId id, CudaLibrary library) {
  static constexpr struct {
    KernelId id;
    CudaLibrary library;
  } kCalls[] = {
#define MPC_KERNEL_LIBRARY(name, library) \
  {KernelId::name, CudaLibrary::library},
#include "kernels/catalog.def"
  };
  for (const auto& call : kCalls)
    if (call.id == id && call.library == library) return true;
  return false;
}

std::unique_ptr<CudaKernel> make_cuda_kernel(const KernelDesc& desc,
                                             const CudaContext& context,
                                             std::string* error) {
  if (!check_description(desc, error)) return nullptr;
  if (!moves_bytes(desc.id)) {
    std::string why;
    if (!check_dtype(desc.operands[0].dtype, context, &why)) {
      *error = std::string(kernel_name(desc.id)) + ": " + why;
      return nullptr;
    }
  }
  return make_checked(desc, context, error);
}

}  // namespace mpc::kernels
