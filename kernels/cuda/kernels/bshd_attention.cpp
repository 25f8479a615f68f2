// Attention of [B, T, H, D] by a kernel for [B, H, T, D]: operands are copied
// into the workspace and results out of it.

#include <utility>
#include <vector>

#include "kernels/cuda/driver/launch.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/shared.h"
#include "kernels/cuda/workspace.h"

namespace mpc::kernels {
namespace {

using cuda::CUdeviceptr;

// An operand that is copied.
struct Copy {
  size_t operand;
  bool is_result;
  // The number of heads, of rows of each head in a batch, and of elements.
  int64_t heads, rows, count;
  int64_t depth;
  cuda::CUfunction function;
  size_t offset;  // Of the copy in the workspace.
};

class BshdAttention final : public CudaKernel {
 public:
  BshdAttention(const CudaContext& context, std::unique_ptr<CudaKernel> inner)
      : context_(context), inner_(std::move(inner)) {}

  // Returns what failed.
  std::string make(const AttentionShape& s) {
    operands_ = s.forward ? 5 : 9;
    inner_offset_ = 0;
    const auto add = [&](size_t operand, bool is_query, int64_t depth,
                         mpc_dtype_t dtype, bool is_result) -> std::string {
      const size_t bytes = mpc_dtype_size(dtype);
      std::string error;
      const cuda::CUfunction function = context_.shared->function(
          context_,
          bytes == 2 ? "mpc_attention_swap_2" : "mpc_attention_swap_4", &error);
      if (!function) return error;
      const int64_t heads = is_query ? s.heads : s.key_heads;
      const int64_t rows = is_query ? s.queries : s.keys;
      const int64_t count = s.batch * heads * rows * depth;
      copies_.push_back({operand, is_result, heads, rows, count, depth,
                         function, inner_offset_});
      inner_offset_ += aligned(static_cast<size_t>(count) * bytes);
      return "";
    };
    const int64_t d = s.depth, e = s.value_depth;
    const size_t query = s.forward ? 0 : 1, results = s.forward ? 3 : 6;
    std::string error = add(query, true, d, s.dtype, false);
    if (error.empty()) error = add(query + 1, false, d, s.dtype, false);
    if (error.empty()) error = add(query + 2, false, e, s.dtype, false);
    if (s.forward) {
      if (error.empty())
        error = add(results, true, e, s.result_dtypes[0], true);
      return error;
    }
    if (error.empty()) error = add(0, true, e, s.dtype, false);
    if (error.empty()) error = add(4, true, e, s.dtype, false);
    if (error.empty()) error = add(results, true, d, s.result_dtypes[0], true);
    if (error.empty())
      error = add(results + 1, false, d, s.result_dtypes[1], true);
    if (error.empty())
      error = add(results + 2, false, e, s.result_dtypes[2], true);
    return error;
  }

  std::string implementation() const override {
    return inner_->implementation();
  }
  size_t workspace_bytes() const override {
    return inner_offset_ + inner_->workspace_bytes();
  }

  std::string enqueue(const CUdeviceptr* operands, CUdeviceptr workspace,
                      cuda::CUstream stream) const override {
    std::vector<CUdeviceptr> copied(operands, operands + operands_);
    for (const Copy& copy : copies_) {
      copied[copy.operand] = workspace + copy.offset;
      if (copy.is_result) continue;
      const std::string error =
          run_copy(copy, copy.rows, copy.heads, operands[copy.operand],
                   copied[copy.operand], stream);
      if (!error.empty()) return error;
    }
    const std::string error =
        inner_->enqueue(copied.data(), workspace + inner_offset_, stream);
    if (!error.empty()) return error;
    for (const Copy& copy : copies_) {
      if (!copy.is_result) continue;
      const std::string failed =
          run_copy(copy, copy.heads, copy.rows, copied[copy.operand],
                   operands[copy.operand], stream);
      if (!failed.empty()) return failed;
    }
    return "";
  }

 private:
  // Copies [B, rows, columns, D] to [B, columns, rows, D].
  std::string run_copy(const Copy& copy, int64_t rows, int64_t columns,
                       CUdeviceptr from, CUdeviceptr to,
                       cuda::CUstream stream) const {
    int64_t count = copy.count, depth = copy.depth;
    void* parameters[] = {&from, &to, &count, &rows, &columns, &depth};
    return launch(*context_.driver, copy.function, count, stream, parameters);
  }

  const CudaContext context_;  // A copy, which keeps the module.
  const std::unique_ptr<CudaKernel> inner_;
  size_t operands_ = 0;
  std::vector<Copy> copies_;
  size_t inner_offset_ = 0;  // The workspace of `inner_` follows the copies.
};

}  // namespace

std::unique_ptr<CudaKernel> make_bshd_attention(
    const AttentionShape& shape, const CudaContext& context,
    std::unique_ptr<CudaKernel> inner, std::string* error) {
  auto kernel = std::make_unique<BshdAttention>(context, std::move(inner));
  *error = kernel->make(shape);
  if (!error->empty()) return nullptr;
  return kernel;
}

}  // namespace mpc::kernels
