// Looks up rows of a table by index, and computes the gradient of the table. In
// the gradient each thread owns a part of the table, some columns of some rows,
// and processes all indices in order. Nothing is sorted, and any number of
// threads gives the bits of the reference.

#include <cstring>
#include <string>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/widened/conversion.h"

namespace mpc::kernels::cpu {
namespace {

constexpr double kBytesPerThread = 1 << 18;
// Number of f32 in a cache line; threads do not share lines.
constexpr int64_t kLine = 16;

template <typename Index>
class EmbeddingKernel final : public Kernel {
 public:
  EmbeddingKernel(const EmbeddingShape& shape, int threads)
      : shape_(shape),
        row_bytes_(static_cast<size_t>(shape.width) *
                   mpc_dtype_size(shape.dtype)),
        threads_(threads) {}

  std::string implementation() const override { return "embedding:rows"; }
  bool run(void* const* operands, void*) const override {
    parallel(threads_, [&](int part, int parts) {
      const Range mine = share(shape_.count, part, parts);
      look_up(operands, mine.begin, mine.end);
    });
    return true;
  }

 private:
  void look_up(void* const* operands, int64_t begin, int64_t end) const {
    const char* table = static_cast<const char*>(operands[0]);
    const Index* indices = static_cast<const Index*>(operands[1]);
    char* to = static_cast<char*>(operands[2]) + begin * row_bytes_;
    for (int64_t i = begin; i < end; ++i, to += row_bytes_) {
      const int64_t row = embedding_row(indices[i], shape_.rows);
      if (row >= 0)
        std::memcpy(to, table + row * row_bytes_, row_bytes_);
      else  // All bits set is a NaN in every float type.
        std::memset(to, 0xff, row_bytes_);
    }
  }

  EmbeddingShape shape_;
  size_t row_bytes_;
  int threads_;
};

template <typename Index>
class EmbeddingGradKernel final : public Kernel {
 public:
  // Threads divide the columns as long as each gets a cache line, and then also
  // the rows.
  EmbeddingGradKernel(const EmbeddingShape& shape, int threads)
      : shape_(shape),
        element_(mpc_dtype_size(shape.dtype)),
        loops_(Conversion(shape.dtype).loops()),
        threads_(threads),
        column_parts_(static_cast<int>(
            std::min<int64_t>(threads, (shape.width + kLine - 1) / kLine))),
        row_parts_(threads / column_parts_),
        rows_together_((kLine + shape.width - 1) / shape.width) {}

  std::string implementation() const override {
    return "embedding_grad:columns/" + std::to_string(column_parts_) +
           ",rows/" + std::to_string(row_parts_);
  }
  bool run(void* const* operands, void*) const override {
    const char* dy = static_cast<const char*>(operands[0]);
    const Index* indices = static_cast<const Index*>(operands[1]);
    float* table = static_cast<float*>(operands[2]);
    if (threads_ == 1) {
      clear(table, 0);
      add(dy, indices, table, 0);
      return true;
    }
    parallel(threads_, [&](int thread, int threads) {
      for (int part = thread; part < threads_; part += threads)
        clear(table, part);
      parallel_barrier();
      for (int part = thread; part < column_parts_ * row_parts_;
           part += threads)
        add(dy, indices, table, part);
    });
    return true;
  }

 private:
  void clear(float* table, int part) const {
    const int64_t lines = (shape_.rows * shape_.width + kLine - 1) / kLine;
    const int64_t begin = lines * part / threads_ * kLine,
                  end = std::min(lines * (part + 1) / threads_ * kLine,
                                 shape_.rows * shape_.width);
    std::fill(table + begin, table + end, 0.0f);
  }

  void add(const char* dy, const Index* indices, float* table, int part) const {
    const int64_t lines = (shape_.width + kLine - 1) / kLine,
                  column = part % column_parts_, mine = part / column_parts_;
    const int64_t begin = lines * column / column_parts_ * kLine,
                  end = std::min(lines * (column + 1) / column_parts_ * kLine,
                                 shape_.width);
    for (int64_t i = 0; i < shape_.count; ++i) {
      const int64_t row = embedding_row(indices[i], shape_.rows);
      if (row < 0 ||
          (row_parts_ > 1 && row / rows_together_ % row_parts_ != mine))
        continue;
      loops_.add(dy + static_cast<size_t>(i * shape_.width + begin) * element_,
                 end - begin, table + row * shape_.width + begin);
    }
  }

  EmbeddingShape shape_;
  size_t element_;
  ConversionLoops loops_;
  int threads_, column_parts_, row_parts_;
  int64_t rows_together_;  // Rows that make up a cache line.
};

}  // namespace

std::unique_ptr<Kernel> make_embedding(KernelId id, const EmbeddingShape& shape,
                                       const Context& context) {
  const double bytes = static_cast<double>(shape.count) *
                       static_cast<double>(shape.width) *
                       static_cast<double>(mpc_dtype_size(shape.dtype));
  if (id == KernelId::embedding) {
    const int threads = static_cast<int>(std::min<int64_t>(
        shape.count, threads_for(bytes, kBytesPerThread, context.threads)));
    if (shape.index_dtype == MPC_DTYPE_I32)
      return std::make_unique<EmbeddingKernel<int32_t>>(shape, threads);
    return std::make_unique<EmbeddingKernel<int64_t>>(shape, threads);
  }
  const double table =
      4.0 * static_cast<double>(shape.rows) * static_cast<double>(shape.width);
  const int threads =
      threads_for(bytes + table, kBytesPerThread, context.threads);
  if (shape.index_dtype == MPC_DTYPE_I32)
    return std::make_unique<EmbeddingGradKernel<int32_t>>(shape, threads);
  return std::make_unique<EmbeddingGradKernel<int64_t>>(shape, threads);
}

}  // namespace mpc::kernels::cpu
