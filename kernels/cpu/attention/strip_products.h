// The matrix products of the strips of attention, each on one thread: by oneDNN
// where the CPU has fast instructions for the type, else by Gemm in f32.

#ifndef MPC_KERNELS_CPU_ATTENTION_STRIP_PRODUCTS_H_
#define MPC_KERNELS_CPU_ATTENTION_STRIP_PRODUCTS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cpu/dnnl/dnnl_kernel.h"
#include "kernels/cpu/gemm/gemm.h"

namespace mpc::kernels::cpu {

// What a thread needs for a strip: operands and results of its products, the
// dot products of rows, the derivatives of the soft cap for one row, and
// scratch memory for the products.
enum Buffer : int {
  kGrad,
  kQuery,
  kKey,
  kValue,
  kResult,
  kQueryGrad,
  kKeyGrad,
  kValueGrad,
  kScores,
  kPGrads,
  kP,
  kScoreGrads,
  kShared,
  kSlopes,
  kRows,
  kScratchpad,
  kNumBuffers
};

// A matrix in a buffer, with rows of `stride` elements.
struct ProductOperand {
  Buffer buffer;
  mpc_dtype_t dtype;
  int64_t stride;
  bool is_transposed = false;
};

// result[m, n] = lhs[m, k] rhs[k, n], or result += that.
struct StripProduct {
  ProductOperand lhs, rhs, result;
  int64_t m, n, k;
  bool accumulates = false;
};

// Lists of products, one for each kind of strip. The lists have the same
// length, and products at the same place differ in extents only.
class StripProducts {
 public:
  static constexpr size_t kMaxProducts = 5;

  // `workers` threads may run products at the same time.
  StripProducts(const std::vector<std::vector<StripProduct>>& lists,
                bool uses_dnnl, int workers);

  // For each worker.
  size_t scratch_bytes() const { return scratch_bytes_; }
  // The instructions, for display.
  const std::string& name() const { return name_; }

  // A worker's products, one after another, while keys and values stay the
  // same: their packed copies are used again.
  class Run {
   public:
    // `buffers` lists the addresses of all buffers; the scratchpad has
    // scratch_bytes().
    Run(const StripProducts& products, void** buffers, int worker)
        : products_(products), buffers_(buffers), worker_(worker) {}
    // Returns false if memory ran out.
    bool multiply(size_t list, size_t index);

   private:
    // The previous product at the same place of its list.
    struct Previous {
      const Gemm* gemm = nullptr;
      const void* rhs = nullptr;
    };

    const StripProducts& products_;
    void** const buffers_;
    const int worker_;
    std::array<Previous, kMaxProducts> previous_ = {};
  };

 private:
  void make_gemms();
  void make_calls(int workers);

  const std::vector<std::vector<StripProduct>> lists_;
  const bool uses_dnnl_;
  std::string name_;
  size_t scratch_bytes_ = 0;
  std::vector<std::vector<Gemm>> gemms_;  // By list.
  std::array<size_t, kMaxProducts> scratch_offsets_ = {};
  // By worker, because calls store addresses, then by list.
  mutable std::vector<std::vector<std::vector<DnnlCall>>> calls_;
};

}  // namespace mpc::kernels::cpu

#endif  // MPC_KERNELS_CPU_ATTENTION_STRIP_PRODUCTS_H_
