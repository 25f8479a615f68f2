#include "kernels/cpu/cpu.h"

#include <cstdlib>
#include <dnnl.hpp>
#include <new>

#include "kernels/cpu/dnnl/dnnl_describe.h"
#include "kernels/cpu/dnnl/dnnl_memory.h"
#include "kernels/cpu_isa.h"

namespace mpc::kernels {
namespace {

dnnl::cpu_isa dnnl_isa(CpuIsa isa) {
  switch (isa) {
    case CpuIsa::avx2:
      return dnnl::cpu_isa::avx2;
    case CpuIsa::avx512_core:
      return dnnl::cpu_isa::avx512_core;
    case CpuIsa::avx512_core_bf16:
      return dnnl::cpu_isa::avx512_core_bf16;
    case CpuIsa::all:
      break;
  }
  return cpu::kDnnlAllIsa;
}

// Applies the limit to oneDNN, unless the environment sets oneDNN's own limit.
// Returns an error message, or "".
std::string limit_dnnl() {
  const CpuIsaLimit& limit = cpu_isa_limit();
  if (!limit.name || std::getenv("ONEDNN_MAX_CPU_ISA") ||
      std::getenv("DNNL_MAX_CPU_ISA"))
    return limit.error;
  if (dnnl::set_max_cpu_isa(dnnl_isa(limit.isa)) == dnnl::status::success)
    return "";
  return std::string("MPC_MAX_CPU_ISA=") + limit.name +
         " was set too late: this process has already used oneDNN; set "
         "ONEDNN_MAX_CPU_ISA to the same value";
}

std::nullptr_t refuse(const KernelDesc& desc, std::string* error) {
  *error = std::string(kernel_name(desc.id)) +
           ": has no kernel for CPUs; compile the model for target cpu";
  return nullptr;
}

bool is_f64(const KernelDesc& desc) {
  return !desc.operands.empty() && desc.operands[0].dtype == MPC_DTYPE_F64;
}

std::unique_ptr<Kernel> make_checked(const KernelDesc& desc,
                                     const Context& context,
                                     std::string* error) {
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
      if (has_bias(shape.epilogue) || has_argument(shape.epilogue))
        return refuse(desc, error);
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
    MPC_CASES_OF_ATTENTION : {
      AttentionShape shape;
      if (!parse_attention(desc, &shape, error)) return nullptr;
      const bool is_listed =
          !shape.bshd || (shape.packed && shape.dtype == MPC_DTYPE_F32);
      if (is_listed) return cpu::make_attention(shape, context);
      return refuse(desc, error);
    }
    case KernelId::lstm:
    case KernelId::lstm_grad:
    case KernelId::gru:
    case KernelId::gru_grad: {
      RecurrentShape shape;
      if (!parse_recurrent(desc, &shape, error)) return nullptr;
      return cpu::make_recurrent(shape, context);
    }
    case KernelId::embedding:
    case KernelId::embedding_grad: {
      EmbeddingShape shape;
      if (!parse_embedding(desc, &shape, error)) return nullptr;
      return cpu::make_embedding(desc.id, shape, context);
    }
    case KernelId::observe:
    case KernelId::rounding: {
      ObserveShape shape;
      if (!parse_observe(desc, &shape, error)) return nullptr;
      return cpu::make_observe(desc.id, shape, context);
    }
    case KernelId::copy:
    case KernelId::zero: {
      size_t bytes;
      if (!parse_bytes(desc, &bytes, error)) return nullptr;
      return cpu::make_bytes(desc.id, bytes, context);
    }
    case KernelId::mean_over_ranks: {
      size_t bytes;
      if (!parse_mean_over_ranks(desc, &bytes, error)) return nullptr;
      return cpu::make_bytes(KernelId::copy, bytes, context);
    }
  }
  return nullptr;  // check_description knows every number.
}

// Calls make_checked; throws std::bad_alloc if oneDNN ran out of memory,
// whatever error it reported.
std::unique_ptr<Kernel> make_with_memory(const KernelDesc& desc,
                                         const Context& context,
                                         std::string* error) {
  if (cpu::is_dnnl_damaged()) {
    *error =
        "oneDNN ran out of memory in this process and cannot continue; restart "
        "the process";
    return nullptr;
  }
  cpu::prepare_dnnl_memory();
  const uint64_t before = cpu::dnnl_allocations_set_aside();
  std::unique_ptr<Kernel> kernel;
  bool out_of_memory = false;
  try {
    kernel = make_checked(desc, context, error);
  } catch (const dnnl::error& failure) {
    out_of_memory = failure.status == dnnl_out_of_memory;
    if (!out_of_memory)
      *error = std::string(kernel_name(desc.id)) + " of " +
               mpc_dtype_name(desc.operands[0].dtype) +
               " is not available on this CPU: " + failure.what();
  } catch (const std::bad_alloc&) {
    out_of_memory = true;
  }
  const bool took_reserve = cpu::dnnl_allocations_set_aside() != before;
  if (!took_reserve && !out_of_memory) return kernel;
  kernel.reset();
  // Primitives made before memory ran out stay in oneDNN's cache, and the part
  // of the reserve that they hold would be missing for the next kernel.
  if (took_reserve && !cpu::is_dnnl_damaged()) cpu::clear_dnnl_cache();
  throw std::bad_alloc();
}

}  // namespace

#ifdef __x86_64__
bool cpu::has_avx2() {
  return isa_allows(cpu_isa_limit().isa, "avx2") &&
         __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
}

bool cpu::has_avx512() {
  return isa_allows(cpu_isa_limit().isa, "avx512bw") &&
         __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq");
}

bool cpu::has_avx512_bf16() {
  return isa_allows(cpu_isa_limit().isa, "avx512bf16") && has_avx512() &&
         __builtin_cpu_supports("avx512bf16");
}

bool cpu::has_fast_bf16() {
  if (!has_avx512_bf16()) return false;
  return __builtin_cpu_is("amd") ||
         (isa_allows(cpu_isa_limit().isa, "amx-bf16") &&
          __builtin_cpu_supports("amx-bf16"));
}
#else
bool cpu::has_avx2() { return false; }
bool cpu::has_avx512() { return false; }
bool cpu::has_avx512_bf16() { return false; }
bool cpu::has_fast_bf16() { return false; }
#endif

std::unique_ptr<Kernel> make_cpu_kernel(const KernelDesc& desc,
                                        const Context& context,
                                        std::string* error) {
  if (!check_description(desc, error)) return nullptr;
  static const std::string trouble = limit_dnnl();
  if (!trouble.empty()) {
    *error = trouble;
    return nullptr;
  }
  if (context.threads < 1) {
    *error = "a kernel needs at least one thread, found " +
             std::to_string(context.threads);
    return nullptr;
  }
  const bool moves_bytes =
      desc.id == KernelId::copy || desc.id == KernelId::zero;
  if (!moves_bytes && is_f64(desc)) return make_reference_kernel(desc, error);
#ifdef __x86_64__
  if (!cpu::has_avx2()) {
    *error = "this CPU lacks AVX2, FMA or F16C, which kernels need";
    return nullptr;
  }
#endif
  return make_with_memory(desc, context, error);
}

}  // namespace mpc::kernels
