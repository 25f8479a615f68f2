// mpc-gemm-bench [SIZE] [ROUNDS] [THREADS]: square matrix products with our
// kernel and with direct calls of oneDNN, in f32 and bf16, in turns.
//
// mpc-gemm-bench MxNxK[:tn]...: products of these sizes. The letters say which
// operands lie in memory transposed: t or n, for the left and the right one.

#include <omp.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <dnnl.hpp>
#include <memory>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "test/bench/kernels/canary.h"

namespace mpc::bench {
namespace {

using dnnl::memory;

struct Size {
  int64_t m, n, k;
  bool lhs_transposed = false, rhs_transposed = false;
};

// One product with its operands, prepared for both.
class Product {
 public:
  Product(const Size& size, mpc_dtype_t dtype)
      : Product(size.m, size.n, size.k, size, dtype) {}

  Product(int64_t m, int64_t n, int64_t k, const Size& size, mpc_dtype_t dtype)
      : flops_(2.0 * m * n * k),
        lhs_(make(m * k)),
        rhs_(make(k * n)),
        result_(make(m * n)),
        operands_{lhs_.get(), rhs_.get(), result_.get()} {
    const kernels::KernelDesc desc{
        kernels::KernelId::matmul,
        {{dtype, transposed({m, k}, size.lhs_transposed)},
         {dtype, transposed({k, n}, size.rhs_transposed)},
         {dtype, {m, n}}},
        {size.lhs_transposed, size.rhs_transposed}};
    std::string error;
    kernel_ = make_cpu_kernel(desc, {omp_get_max_threads(), false}, &error);
    if (!kernel_) {
      std::fprintf(stderr, "%s\n", error.c_str());
      std::exit(1);
    }
    scratch_ = make(kernel_->scratch_bytes() / sizeof(float) + 1);
    prepare_dnnl(size, dtype == MPC_DTYPE_F32 ? memory::data_type::f32
                                              : memory::data_type::bf16);
  }

  // GFLOP/s of one side; 0 if oneDNN does not support the product.
  double rate(bool ours) {
    if (!ours && !has_dnnl()) return 0;
    return flops_ * 1e-9 /
           time_per_call(0.006, [&] { ours ? run_ours() : run_dnnl(); });
  }
  void run_ours() { kernel_->run(operands_, scratch_.get()); }
  void run_dnnl() {
    if (has_dnnl()) primitive_.execute(stream_, arguments_);
  }
  bool has_dnnl() const { return static_cast<bool>(primitive_); }
  std::string implementation() const { return kernel_->implementation(); }

 private:
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  using Memory = std::unique_ptr<float, Free>;

  static constexpr size_t kHugePage = 2 << 20;

  // Also used for bf16; the values are about one in either type.
  static Memory make(size_t count) {
    const size_t bytes =
        (count * sizeof(float) + kHugePage - 1) / kHugePage * kHugePage;
    Memory result(static_cast<float*>(std::aligned_alloc(kHugePage, bytes)));
    // As the runtime's memory.
    (void)madvise(result.get(), bytes, MADV_HUGEPAGE);
    uint32_t state = 1;
    auto* words = reinterpret_cast<uint16_t*>(result.get());
    for (size_t i = 0; i < bytes / 2; ++i) {
      state = state * 1664525 + 1013904223;
      words[i] =
          static_cast<uint16_t>(0x3f00 | (state >> 24) | (state >> 8 & 0x8000));
    }
    return result;
  }

  static std::vector<int64_t> transposed(std::vector<int64_t> shape,
                                         bool is_transposed) {
    if (is_transposed) std::swap(shape[0], shape[1]);
    return shape;
  }

  void prepare_dnnl(const Size& size, memory::data_type type) {
    const auto tag = [](bool is_transposed) {
      return is_transposed ? memory::format_tag::ba : memory::format_tag::ab;
    };
    const memory::desc lhs({size.m, size.k}, type, tag(size.lhs_transposed)),
        rhs({size.k, size.n}, type, tag(size.rhs_transposed)),
        result({size.m, size.n}, type, tag(false));
    const dnnl::matmul::desc desc(lhs, rhs, result);
    try {
      primitive_ = dnnl::matmul(dnnl::matmul::primitive_desc(desc, engine_));
    } catch (const dnnl::error&) {
      return;  // No bf16 below AVX-512.
    }
    arguments_ = {{DNNL_ARG_SRC, memory(lhs, engine_, lhs_.get())},
                  {DNNL_ARG_WEIGHTS, memory(rhs, engine_, rhs_.get())},
                  {DNNL_ARG_DST, memory(result, engine_, result_.get())}};
  }

  double flops_;
  Memory lhs_, rhs_, result_, scratch_;
  void* operands_[3];
  std::unique_ptr<kernels::Kernel> kernel_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::matmul primitive_;
  std::unordered_map<int, memory> arguments_;
};

struct Round {
  // GFLOP/s; 0 if oneDNN does not support it. `canary` is the lower of the two.
  double ours = 0, dnnl = 0, canary = 0;
  double ratio() const { return dnnl > 0 ? ours / dnnl : 0; }
};

Round run_round(Product* product, bool ours_first, double (*canary)()) {
  Round round;
  round.canary = canary();
  for (int turn = 0; turn < 2; ++turn) {
    if ((turn == 0) == ours_first)
      round.ours = product->rate(true);
    else
      round.dnnl = product->rate(false);
  }
  round.canary = std::min(round.canary, canary());
  return round;
}

struct Summary {
  double ours = 0, dnnl = 0;
};

// Medians over the rounds whose canaries were within 5 % of the best.
Summary summarize(const char* name, const std::vector<Round>& rounds,
                  const std::string& implementation) {
  double peak = 0;
  for (const Round& round : rounds) peak = std::max(peak, round.canary);
  std::vector<double> ours, dnnl, ratios;
  for (const Round& round : rounds) {
    if (round.canary < 0.95 * peak) continue;
    ours.push_back(round.ours);
    dnnl.push_back(round.dnnl);
    ratios.push_back(round.ratio());
  }
  const Summary summary{median(ours), median(dnnl)};
  std::printf("%-5s %9.1f %9.1f %7.3f  %.3f..%.3f %9.1f %6.1f%% %4zu/%zu  %s\n",
              name, summary.ours, summary.dnnl, median(ratios),
              *std::min_element(ratios.begin(), ratios.end()),
              *std::max_element(ratios.begin(), ratios.end()), peak,
              peak > 0 ? 100 * summary.ours / peak : 0, ours.size(),
              rounds.size(), implementation.c_str());
  return summary;
}

void compare_square(int64_t size, int rounds) {
  std::printf("GEMM %lld^3, %d threads, medians in GFLOP/s\n",
              static_cast<long long>(size), omp_get_max_threads());
  std::printf(
      "dtype      ours    oneDNN   ratio  spread            peak"
      "  share   used  implementation\n");
  Product f32({size, size, size}, MPC_DTYPE_F32);
  Product bf16({size, size, size}, MPC_DTYPE_BF16);
  std::vector<Round> f32_rounds, bf16_rounds;
  for (int i = 0; i < rounds; ++i) {
    f32_rounds.push_back(run_round(&f32, i % 2 == 0, canary_f32));
    bf16_rounds.push_back(run_round(&bf16, i % 2 == 0, canary_bf16));
  }
  const Summary a = summarize("f32", f32_rounds, f32.implementation());
  const Summary b = summarize("bf16", bf16_rounds, bf16.implementation());
  std::printf("bf16/f32 %.3f\n\n", b.ours / a.ours);
}

// Measures the cost of a call with small products.
void compare_small(int rounds) {
  std::printf("small products, best of %d, microseconds per call\n", rounds);
  std::printf("%-18s %8s %8s %8s %8s\n", "m n k", "f32", "oneDNN", "bf16",
              "oneDNN");
  for (const Size s :
       {Size{1, 1, 1}, Size{64, 10, 64}, Size{64, 128, 64}, Size{64, 64, 128},
        Size{128, 64, 64}, Size{64, 256, 256}, Size{256, 256, 256}}) {
    Product f32(s, MPC_DTYPE_F32);
    Product bf16(s, MPC_DTYPE_BF16);
    double best[4] = {1, 1, 1, 1};
    for (int i = 0; i < rounds; ++i) {
      const double times[4] = {time_per_call(0.002, [&] { f32.run_ours(); }),
                               time_per_call(0.002, [&] { f32.run_dnnl(); }),
                               time_per_call(0.002, [&] { bf16.run_ours(); }),
                               time_per_call(0.002, [&] { bf16.run_dnnl(); })};
      for (int j = 0; j < 4; ++j) best[j] = std::min(best[j], times[j]);
    }
    std::printf("%-4lld %-4lld %-8lld %8.2f %8.2f %8.2f %8.2f\n",
                static_cast<long long>(s.m), static_cast<long long>(s.n),
                static_cast<long long>(s.k), best[0] * 1e6, best[1] * 1e6,
                best[2] * 1e6, best[3] * 1e6);
  }
}

// Parses MxNxK[:tn].
bool parse_size(const char* text, Size* size) {
  long long m = 0, n = 0, k = 0;
  int end = 0;
  if (std::sscanf(text, "%lldx%lldx%lld%n", &m, &n, &k, &end) != 3 || m < 1 ||
      n < 1 || k < 1)
    return false;
  const std::string layout = text + end;
  *size = {m, n, k, layout[0] && layout[1] == 't',
           layout == ":nt" || layout == ":tt"};
  return layout.empty() || layout == ":nn" || layout == ":nt" ||
         layout == ":tn" || layout == ":tt";
}

// Prints a row for each size: the best of the rounds, which shows what is
// possible with the fewest disturbances.
void compare_sizes(const std::vector<std::string>& names, int rounds) {
  std::printf("%-22s %9s %9s %9s %9s %9s\n", "m x n x k: GFLOP/s", "f32",
              "oneDNN", "bf16", "oneDNN", "peak f32");
  for (const std::string& name : names) {
    Size size;
    parse_size(name.c_str(), &size);
    Product products[] = {{size, MPC_DTYPE_F32}, {size, MPC_DTYPE_BF16}};
    double best[5] = {};
    for (int i = 0; i < rounds; ++i) {
      const double rates[] = {products[0].rate(i % 2 == 0),
                              products[0].rate(i % 2 != 0),
                              products[1].rate(i % 2 == 0),
                              products[1].rate(i % 2 != 0), canary_f32()};
      for (int j = 0; j < 5; ++j)
        best[j < 4 ? j ^ (i & 1) : j] =
            std::max(best[j < 4 ? j ^ (i & 1) : j], rates[j]);
    }
    std::printf("%-22s %9.1f %9.1f %9.1f %9.1f %9.1f\n", name.c_str(), best[0],
                best[1], best[2], best[3], best[4]);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace mpc::bench

int main(int argc, char** argv) {
  const std::vector<std::string> names(argv + 1, argv + argc);
  mpc::bench::Size parsed;
  if (!names.empty() && mpc::bench::parse_size(argv[1], &parsed)) {
    for (const std::string& name : names)
      if (!mpc::bench::parse_size(name.c_str(), &parsed)) {
        std::fprintf(stderr, "%s: is not of the form MxNxK[:tn]\n",
                     name.c_str());
        return 2;
      }
    mpc::bench::compare_sizes(names, 15);
    return 0;
  }
  const int size = argc > 1 ? std::atoi(argv[1]) : 1024;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 50;
  if (argc > 3) omp_set_num_threads(std::max(1, std::atoi(argv[3])));
  if (size < 1 || rounds < 1) {
    std::fprintf(stderr, "usage: %s [SIZE] [ROUNDS] [THREADS]\n", argv[0]);
    return 2;
  }
  mpc::bench::compare_square(size, rounds);
  mpc::bench::compare_small(rounds);
}
