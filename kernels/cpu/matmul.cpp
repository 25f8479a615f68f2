// Matrix products. Leading dimensions of the left operand become rows if the
// right one has none, so that a linear layer is always one 2-D product.

#include "kernels/cpu/matmul.h"

#include <atomic>
#include <cstring>

#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/widened/widened_call.h"

namespace mpc::kernels::cpu {
namespace {

// Multiply-adds below which a second thread does not pay, and those of a group
// of small matrices that a thread takes at a time.
constexpr double kWorkPerThread = 2e5, kWorkPerGroup = 4e5;
// If there are so many matrices for each thread, each is computed by one
// thread.
constexpr int64_t kMatricesPerThread = 2;

// Normalizes the product to a form with fewer or simpler matrices.
MatmulShape normalize(MatmulShape s) {
  // A vector is its own transpose.
  if (s.m == 1 || s.k == 1) s.transpose_lhs = false;
  if (s.n == 1 || s.k == 1) s.transpose_rhs = false;
  if (s.batch.size() == 1 && !s.batch[0].in_rhs && !s.transpose_lhs) {
    s.m *= s.batch[0].extent;
    s.batch.clear();
  }
  return s;
}

int64_t batch_count(const MatmulShape& s) {
  int64_t count = 1;
  for (const BatchDim& dim : s.batch) count *= dim.extent;
  return count;
}

// Copies the addend to the result, unless it lies there.
void start_from_addend(const MatmulShape& shape, int threads,
                       void* const* operands) {
  const char* addend = static_cast<const char*>(operands[2]);
  char* result = static_cast<char*>(operands[3]);
  if (addend == result) return;
  const int64_t rows = shape.m * batch_count(shape);
  const size_t bytes =
      static_cast<size_t>(shape.n) * mpc_dtype_size(shape.result_dtype);
  parallel(threads, [&](int part, int parts) {
    const Range mine = share(rows, part, parts);
    const size_t begin = static_cast<size_t>(mine.begin) * bytes,
                 end = static_cast<size_t>(mine.end) * bytes;
    std::memcpy(result + begin, addend + begin, end - begin);
  });
}

// Threads take matrices of the batch one after another, small ones several at a
// time. They compute few large matrices together.
class MatmulKernel final : public Kernel {
 public:
  MatmulKernel(const MatmulShape& shape, int threads)
      : shape_(shape),
        matrices_(batch_count(shape)),
        threads_(threads),
        by_matrix_(threads > 1 && matrices_ >= kMatricesPerThread * threads),
        gemm_(gemm_shape(), by_matrix_ ? 1 : threads) {
    const double work = multiply_adds(shape) / static_cast<double>(matrices_);
    group_ = std::clamp(static_cast<int64_t>(kWorkPerGroup / work), int64_t{1},
                        std::max(matrices_ / threads / 4, int64_t{1}));
    scratch_ = (gemm_.scratch_bytes() + kOperandAlignment - 1) /
               kOperandAlignment * kOperandAlignment;
  }

  std::string implementation() const override {
    return std::string("gemm:") + gemm_instructions();
  }
  size_t scratch_bytes() const override {
    return by_matrix_ ? scratch_ * static_cast<size_t>(threads_) : scratch_;
  }
  bool run(void* const* operands, void* scratch) const override {
    if (adds()) start_from_addend(shape_, threads_, operands);
    if (!by_matrix_) {
      for (int64_t i = 0; i < matrices_; ++i) run_matrix(i, operands, scratch);
      return true;
    }
    alignas(64) std::atomic<int64_t> next{0};
    parallel(threads_, [&](int part, int) {
      char* mine =
          static_cast<char*>(scratch) + scratch_ * static_cast<size_t>(part);
      for (;;) {
        const int64_t first = next.fetch_add(group_, std::memory_order_relaxed);
        if (first >= matrices_) return;
        for (int64_t i = first; i < std::min(first + group_, matrices_); ++i)
          run_matrix(i, operands, mine);
      }
    });
    return true;
  }

 private:
  bool adds() const { return shape_.epilogue == Epilogue::kAdd; }
  GemmShape gemm_shape() const {
    const auto layout = [this](bool transpose, int64_t rows, int64_t columns) {
      return transpose ? MatrixLayout{shape_.dtype, 1, rows}
                       : MatrixLayout{shape_.dtype, columns, 1};
    };
    return {shape_.m,
            shape_.n,
            shape_.k,
            layout(shape_.transpose_lhs, shape_.m, shape_.k),
            layout(shape_.transpose_rhs, shape_.k, shape_.n),
            {shape_.result_dtype, shape_.n, 1},
            adds()};
  }

  void run_matrix(int64_t matrix, void* const* operands, void* scratch) const {
    const int64_t result = matrix * shape_.m * shape_.n;
    int64_t lhs = 0, rhs = 0;
    int64_t lhs_stride = shape_.m * shape_.k, rhs_stride = shape_.k * shape_.n;
    for (size_t d = shape_.batch.size(); d-- > 0;) {
      const BatchDim& dim = shape_.batch[d];
      const int64_t index = matrix % dim.extent;
      matrix /= dim.extent;
      if (dim.in_lhs) {
        lhs += index * lhs_stride;
        lhs_stride *= dim.extent;
      }
      if (dim.in_rhs) {
        rhs += index * rhs_stride;
        rhs_stride *= dim.extent;
      }
    }
    const auto address = [](void* data, int64_t element, mpc_dtype_t dtype) {
      return static_cast<char*>(data) +
             element * static_cast<int64_t>(mpc_dtype_size(dtype));
    };
    gemm_.run(
        address(operands[0], lhs, shape_.dtype),
        address(operands[1], rhs, shape_.dtype),
        address(operands[shape_.result_operand()], result, shape_.result_dtype),
        scratch);
  }

  const MatmulShape shape_;
  const int64_t matrices_;
  const int threads_;
  const bool by_matrix_;
  const Gemm gemm_;
  int64_t group_;  // Matrices that a thread takes at a time.
  size_t scratch_;
};

}  // namespace

std::unique_ptr<Kernel> make_matmul(const MatmulShape& given,
                                    const Context& context) {
  const MatmulShape shape = normalize(given);
  const int threads =
      threads_for(multiply_adds(shape), kWorkPerThread, context.threads);
  if (shape.dtype == MPC_DTYPE_F32 || is_widened(shape.dtype) ||
      shape.epilogue == Epilogue::kAdd)
    return std::make_unique<MatmulKernel>(shape, threads);
  return make_dnnl_matmul(shape, threads, context.deterministic);
}

}  // namespace mpc::kernels::cpu
