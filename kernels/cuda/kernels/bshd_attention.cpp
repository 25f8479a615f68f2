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
  int64_t heads, rows;  // Rows are those of a head in a batch.
  int64_t depth;
  mpc_dtype_t dtype;
  // Set by make().
  cuda::CUfunction function = nullptr;
  int64_t count = 0;
  size_t offset = 0;  // Where the copy is in the workspace.
};

std::vector<Copy> copies_for(const AttentionShape& s) {
  std::vector<Copy> copies;
  const auto of_query = [&](size_t operand, int64_t depth, mpc_dtype_t dtype,
                            bool is_result) {
    copies.push_back({operand, is_result, s.heads, s.queries, depth, dtype});
  };
  const auto of_key = [&](size_t operand, int64_t depth, mpc_dtype_t dtype,
                          bool is_result) {
    copies.push_back({operand, is_result, s.key_heads, s.keys, depth, dtype});
  };
  const int64_t d = s.depth, e = s.value_depth;
  const size_t query = s.forward ? 0 : 1;
  of_query(query, d, s.dtype, false);
  of_key(query + 1, d, s.dtype, false);
  of_key(query + 2, e, s.dtype, false);
  if (s.forward) {
    of_query(3, e, s.result_dtypes[0], true);
    return copies;
  }
  of_query(0, e, s.dtype, false);
  of_query(4, e, s.dtype, false);
  of_query(6, d, s.result_dtypes[0], true);
  of_key(7, d, s.result_dtypes[1], true);
  of_key(8, e, s.result_dtypes[2], true);
  return copies;
}

class BshdAttention final : public CudaKernel {
 public:
  BshdAttention(const AttentionShape& shape, const CudaContext& context,
                std::unique_ptr<CudaKernel> inner)
      : context_(context),
        inner_(std::move(inner)),
        operands_(shape.forward ? 5 : 9),
        copies_(copies_for(shape)) {}

  // Returns what failed.
  std::string make(int64_t batch) {
    for (Copy& copy : copies_) {
      const size_t bytes = mpc_dtype_size(copy.dtype);
      std::string error;
      copy.function = context_.shared->function(
          context_,
          bytes == 2 ? "mpc_attention_swap_2" : "mpc_attention_swap_4", &error);
      if (!copy.function) return error;
      copy.count = batch * copy.heads * copy.rows * copy.depth;
      copy.offset = inner_offset_;
      inner_offset_ += aligned(static_cast<size_t>(copy.count) * bytes);
    }
    return "";
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
  const size_t operands_;
  std::vector<Copy> copies_;
  size_t inner_offset_ = 0;  // The workspace of `inner_` follows the copies.
};

}  // namespace

std::unique_ptr<CudaKernel> make_bshd_attention(
    const AttentionShape& shape, const CudaContext& context,
    std::unique_ptr<CudaKernel> inner, std::string* error) {
  auto kernel =
      std::make_unique<BshdAttention>(shape, context, std::move(inner));
  *error = kernel->make(shape.batch);
  if (!error->empty()) return nullptr;
  return kernel;
}

}  // namespace mpc::kernels
