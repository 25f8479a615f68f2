// mpc-kernel-bench [THREADS]: each kernel of a step on the shapes of the digits
// model and of ResNet-50, channels last; best of some rounds in microseconds,
// by default and with --deterministic's way of cutting sums.

#include <omp.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "test/bench/kernels/canary.h"
#include "test/kernels/attention.h"
#include "test/kernels/harness.h"

namespace mpc::bench {
namespace {

using kernels::Context;
using kernels::Kernel;
using kernels::KernelDesc;
using kernels::KernelId;
using kernels::testing::Buffer;
using kernels::testing::ConvCase;

// A prepared kernel with its own operands.
struct Call {
  Call(const KernelDesc& desc, const Context& context) {
    std::string error;
    kernel = make_cpu_kernel(desc, context, &error);
    if (!kernel) {
      std::fprintf(stderr, "%s\n", error.c_str());
      std::exit(1);
    }
    std::vector<std::vector<double>> inputs;
    for (size_t i = 0; i < kernels::testing::input_count(desc); ++i) {
      inputs.push_back(kernels::testing::uniform(
          1, kernels::testing::element_count(desc.operands[i])));
      if (desc.operands[i].dtype == MPC_DTYPE_I64)
        inputs.back() = kernels::testing::indices_for(desc);
      if (desc.operands[i].dtype == MPC_DTYPE_U8)
        for (double& value : inputs.back()) value = value > 0 ? 1 : 0;
    }
    buffers = kernels::testing::make_operands(desc, inputs);
    for (const Buffer& buffer : buffers) pointers.push_back(buffer.data());
    scratch = std::make_unique<Buffer>(kernel->scratch_bytes());
  }
  double time() {
    return time_per_call(
        0.003, [&] { kernel->run(pointers.data(), scratch->data()); });
  }

  std::unique_ptr<Kernel> kernel;
  std::vector<Buffer> buffers;
  std::vector<void*> pointers;
  std::unique_ptr<Buffer> scratch;
};

// Only kernels with this text in their name are measured.
const char* wanted = "";

void compare(const char* name, const KernelDesc& desc, double flops) {
  if (!std::strstr(name, wanted)) return;
  const int threads = omp_get_max_threads();
  Call plain(desc, {threads, false}), same(desc, {threads, true});
  double best[2] = {1e9, 1e9};
  for (int i = 0; i < 7; ++i) {
    best[0] = std::min(best[0], plain.time());
    best[1] = std::min(best[1], same.time());
  }
  std::printf("%-26s %-4s %9.1f %8.1f %9.1f %6.2f  %s\n", name,
              mpc_dtype_name(desc.operands[0].dtype), best[0] * 1e6,
              flops / best[0] * 1e-9, best[1] * 1e6, best[1] / best[0],
              plain.kernel->implementation().c_str());
}

struct Named {
  const char* name;
  ConvCase c;
};

void compare_convs(mpc_dtype_t dtype) {
  const Named cases[] = {
      {"64x8x8 1->16 3x3",
       {64, 1, 16, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}},
      {"64x8x8 16->16 3x3",
       {64, 16, 16, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}},
      {"64x8x8 16->32 3x3",
       {64, 16, 32, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}},
      {"64x4x4 32->32 3x3",
       {64, 32, 32, {4, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}},
      {"16x56x56 64->64 3x3",
       {16, 64, 64, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}},
      {"16x14x14 256->256 3x3",
       {16, 256, 256, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}},
      {"16x28x28 512->128 1x1",
       {16, 512, 128, {28, 28}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}},
      {"16x28x28 96 depthwise 3x3",
       {16, 96, 96, {28, 28}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 96}},
      {"16x28x28 96 depthwise 5x5",
       {16, 96, 96, {28, 28}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, 96}},
      {"16x28x28 96 depth 3x3 s2",
       {16, 96, 96, {28, 28}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 96}},
  };
  for (const Named& n : cases)
    for (KernelId id : {KernelId::conv, KernelId::conv_grad_input,
                        KernelId::conv_grad_weight}) {
      const char* kind = id == KernelId::conv              ? "y "
                         : id == KernelId::conv_grad_input ? "dx "
                                                           : "dw ";
      const mpc_dtype_t result =
          id == KernelId::conv_grad_weight ? MPC_DTYPE_F32 : dtype;
      const ConvCase& c = n.c;
      const double flops = 2.0 * c.batch * c.inputs * c.outputs / c.group *
                           c.image[0] * c.image[1] * c.kernel[0] * c.kernel[1];
      compare((std::string(kind) + n.name).c_str(),
              kernels::testing::conv_desc(id, c, true, dtype, result), flops);
    }
}

void compare_matmuls(mpc_dtype_t dtype) {
  const auto matmul = [&](const char* name, int64_t m, int64_t n, int64_t k,
                          bool lhs, bool rhs, mpc_dtype_t result) {
    std::vector<int64_t> a = {m, k}, b = {k, n};
    if (lhs) std::swap(a[0], a[1]);
    if (rhs) std::swap(b[0], b[1]);
    compare(name,
            {KernelId::matmul,
             {{dtype, a}, {dtype, b}, {result, {m, n}}},
             {lhs, rhs}},
            2.0 * m * n * k);
  };
  matmul("y  64x64->128", 64, 128, 64, false, true, dtype);
  matmul("dx 64x128->64", 64, 64, 128, false, false, dtype);
  matmul("dw 128x64 k=64", 128, 64, 64, true, false, MPC_DTYPE_F32);
  matmul("y  1024x768->3072", 1024, 3072, 768, false, true, dtype);
  matmul("dx 1024x3072->768", 1024, 768, 3072, false, false, dtype);
  matmul("dw 3072x768 k=1024", 3072, 768, 1024, true, false, MPC_DTYPE_F32);
}

void compare_pools(mpc_dtype_t dtype) {
  const Named cases[] = {
      {"64x8x8x32 2x2",
       {64, 32, 0, {8, 8}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}}},
      {"16x112x112x64 3x3 s2",
       {16, 64, 0, {112, 112}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}}},
  };
  for (const Named& n : cases)
    for (KernelId id : {KernelId::max_pool, KernelId::max_pool_grad,
                        KernelId::average_pool, KernelId::average_pool_grad}) {
      const char* kind = id == KernelId::max_pool        ? "max "
                         : id == KernelId::max_pool_grad ? "dmax "
                         : id == KernelId::average_pool  ? "avg "
                                                         : "davg ";
      compare((std::string(kind) + n.name).c_str(),
              kernels::testing::pool_desc(id, n.c, true, false, dtype), 0);
    }
}

// The attention of GPT-2, and of models with other lengths, in all layouts.
void compare_attentions(mpc_dtype_t dtype) {
  for (const int64_t length : {128, 256, 1024, 4096})
    for (const bool causal : {false, true})
      for (const char* layout : {"", " bshd", " packed"}) {
        kernels::testing::AttentionCase c{
            4096 / length, 12, 12, length, length, 64, 64, causal, 0.125f};
        c.packed = std::strcmp(layout, " packed") == 0;
        c.bshd = *layout != '\0';
        const auto ids = kernels::testing::attention_ids(c);
        for (const KernelId id : ids) {
          const bool forward = id == ids[0];
          // Two products forward, five backward; half of each if causal.
          const double flops = (forward ? 4.0 : 10.0) * 4096 * 12 * 64 *
                               static_cast<double>(length) *
                               (causal ? 0.5 : 1.0);
          compare(((forward ? "attention " : "d attention ") +
                   std::to_string(length) + (causal ? " causal" : "") + layout)
                      .c_str(),
                  kernels::testing::attention_desc(id, c, dtype, dtype), flops);
        }
      }
}

void compare_embeddings(mpc_dtype_t dtype) {
  for (KernelId id : {KernelId::embedding, KernelId::embedding_grad})
    compare(id == KernelId::embedding ? "rows  50257x768, 8x128"
                                      : "drows 50257x768, 8x128",
            kernels::testing::embedding_desc(id, {{50257, 768}, {8, 128}},
                                             dtype, MPC_DTYPE_I64),
            0);
}

}  // namespace
}  // namespace mpc::bench

int main(int argc, char** argv) {
  if (argc > 1) omp_set_num_threads(std::max(1, std::atoi(argv[1])));
  if (argc > 2) mpc::bench::wanted = argv[2];
  std::printf("%d threads, peak %.0f f32 and %.0f bf16 GFLOP/s\n",
              omp_get_max_threads(), mpc::bench::canary_f32(),
              mpc::bench::canary_bf16());
  std::printf("%-26s %-4s %9s %8s %9s %6s  %s\n", "kernel", "type", "us",
              "GFLOP/s", "same us", "ratio", "implementation");
  for (mpc_dtype_t dtype : {MPC_DTYPE_F32, MPC_DTYPE_BF16, MPC_DTYPE_F16}) {
    mpc::bench::compare_matmuls(dtype);
    mpc::bench::compare_convs(dtype);
    mpc::bench::compare_pools(dtype);
    mpc::bench::compare_attentions(dtype);
    mpc::bench::compare_embeddings(dtype);
  }
}
