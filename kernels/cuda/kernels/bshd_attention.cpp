// Attention of [B, T, H, D], packed or not, by a kernel for [B, H, T, D]:
// operands are copied into the workspace and results out of it.

#include <utility>
#include <vector>

#include "kernels/cuda/driver/launch.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/kernels/attention_params.h"
#include "kernels/cuda/shared.h"
#include "kernels/cuda/workspace.h"

namespace mpc::kernels {
namespace {

using cuda::CUdeviceptr;

// An operand that is copied.
struct Copy {
  size_t operand;
  bool is_result;
  HeadCopyParams params;  // To the workspace, or from there.
  mpc_dtype_t dtype;
  // Set by make().
  cuda::CUfunction function = nullptr;
  size_t offset = 0;  // Where the copy is in the workspace.
};

std::vector<Copy> copies_for(const AttentionShape& s) {
  std::vector<Copy> copies;
  const auto add = [&](size_t operand, int64_t heads, int64_t rows,
                       const HeadStrides& strides, int64_t depth) {
    const size_t first_result = s.first_result();
    const bool is_result = operand >= first_result;
    const HeadStrides dense = {heads * rows, rows, 1};
    copies.push_back(
        {operand,
         is_result,
         {s.batch * heads * rows * depth, heads, rows, depth,
          is_result ? dense : strides, is_result ? strides : dense},
         is_result ? s.result_dtypes[operand - first_result] : s.dtype});
  };
  const auto add_query = [&](size_t operand) {
    add(operand, s.heads, s.queries, s.query_strides(), s.depth);
  };
  const auto add_key = [&](size_t operand, int64_t depth) {
    add(operand, s.key_heads, s.keys, s.key_strides(), depth);
  };
  const auto add_result = [&](size_t operand) {
    add(operand, s.heads, s.queries, s.result_strides(), s.value_depth);
  };
  const size_t query = s.forward ? 0 : 1;
  add_query(query);
  add_key(query + 1, s.depth);
  add_key(query + 2, s.value_depth);
  if (s.forward) {
    add_result(3);
    return copies;
  }
  add_result(0);
  add_result(4);
  add_query(6);
  add_key(7, s.depth);
  add_key(8, s.value_depth);
  return copies;
}

class BshdAttention final : public CudaKernel {
 public:
  BshdAttention(const AttentionShape& shape, const CudaContext& context,
                std::unique_ptr<CudaKernel> inner)
      : context_(context),
        shape_(shape),
        inner_(std::move(inner)),
        copies_(copies_for(shape)) {}

  // Returns what failed.
  std::string make() {
    for (Copy& copy : copies_) {
      const size_t bytes = mpc_dtype_size(copy.dtype);
      std::string error;
      copy.function = context_.shared->function(
          context_,
          bytes == 2 ? "mpc_attention_copy_2" : "mpc_attention_copy_4", &error);
      if (!copy.function) return error;
      copy.offset = inner_offset_;
      inner_offset_ += aligned(static_cast<size_t>(copy.params.count) * bytes);
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
    const std::vector<OperandPlace> places = shape_.separate_operands();
    std::vector<CUdeviceptr> separate(places.size());
    for (size_t i = 0; i < places.size(); ++i)
      separate[i] = operands[places[i].operand] + places[i].offset;
    std::vector<CUdeviceptr> copied = separate;
    for (const Copy& copy : copies_) {
      copied[copy.operand] = workspace + copy.offset;
      if (copy.is_result) continue;
      const std::string error =
          run_copy(copy, separate[copy.operand], copied[copy.operand], stream);
      if (!error.empty()) return error;
    }
    const std::string error =
        inner_->enqueue(copied.data(), workspace + inner_offset_, stream);
    if (!error.empty()) return error;
    for (const Copy& copy : copies_) {
      if (!copy.is_result) continue;
      const std::string failed =
          run_copy(copy, copied[copy.operand], separate[copy.operand], stream);
      if (!failed.empty()) return failed;
    }
    return "";
  }

 private:
  std::string run_copy(const Copy& copy, CUdeviceptr from, CUdeviceptr to,
                       cuda::CUstream stream) const {
    HeadCopyParams params = copy.params;
    void* parameters[] = {&from, &to, &params};
    return launch(*context_.driver, copy.function, params.count, stream,
                  parameters);
  }

  const CudaContext context_;  // A copy, which keeps the module.
  const AttentionShape shape_;
  const std::unique_ptr<CudaKernel> inner_;
  std::vector<Copy> copies_;
  size_t inner_offset_ = 0;  // The workspace of `inner_` follows the copies.
};

}  // namespace

std::unique_ptr<CudaKernel> make_bshd_attention(
    const AttentionShape& shape, const CudaContext& context,
    std::unique_ptr<CudaKernel> inner, std::string* error) {
  auto kernel =
      std::make_unique<BshdAttention>(shape, context, std::move(inner));
  *error = kernel->make();
  if (!error->empty()) return nullptr;
  return kernel;
}

}  // namespace mpc::kernels
