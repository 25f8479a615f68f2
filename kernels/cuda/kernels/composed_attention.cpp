// Attention from cuBLASLt's products and the softmax of attention.cu, for
// problems that cuDNN does not support. Scores are stored, for as many heads at
// a time as fit a memory limit. Heads that share keys are adjacent, so all
// their queries are rows of one product.

#include <utility>
#include <vector>

#include "kernels/cuda/driver/launch.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/kernels/attention_params.h"
#include "kernels/cuda/shared.h"

namespace mpc::kernels {
namespace {

using cuda::CUdeviceptr;

constexpr size_t kAlignment = 256;

// The operands and results of products.
enum Buffer : size_t {
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
  kNumBuffers
};

struct Product {
  Buffer lhs, rhs, result;
  int64_t m, n, k;
  bool transpose_lhs, transpose_rhs;
  mpc_dtype_t result_dtype;
};

// A part of the call that runs together: a number of heads of the keys.
struct Part {
  int64_t heads;
  std::vector<std::unique_ptr<CudaKernel>> products;
};

class ComposedAttention final : public CudaKernel {
 public:
  ComposedAttention(const AttentionShape& shape, const CudaContext& context,
                    std::string why, int64_t score_bytes)
      : forward_(shape.forward),
        shape_(shape),
        context_(context),
        why_(std::move(why)),
        score_bytes_(score_bytes),
        rows_(shape.heads / shape.key_heads * shape.queries) {}

  // Returns what failed.
  std::string make() {
    function_name_ = std::string("mpc_attention_softmax_") +
                     (forward_ ? "" : "grad_") + mpc_dtype_name(shape_.dtype);
    std::string error;
    function_ =
        context_.shared->function(context_, function_name_.c_str(), &error);
    if (!function_) return error;
    if (shape_.has_bias_grad) {
      bias_grad_function_ = context_.shared->function(
          context_, "mpc_attention_bias_grad", &error);
      if (!bias_grad_function_) return error;
    }
    const int64_t heads = shape_.batch * shape_.key_heads;
    const int64_t bytes = rows_ * shape_.keys * 4;
    const int64_t most = std::max<int64_t>(1, score_bytes_ / bytes);
    full_.heads = std::min(heads, most);
    rest_.heads = heads % full_.heads;
    for (Part* part : {&full_, &rest_})
      if (part->heads != 0) {
        error = make_products(part);
        if (!error.empty()) return error;
      }
    lay_out();
    return "";
  }

  std::string implementation() const override {
    return full_.products[0]->implementation() + " and " + function_name_ +
           ", as " + why_;
  }
  size_t workspace_bytes() const override { return workspace_bytes_; }

  std::string enqueue(const CUdeviceptr* operands, CUdeviceptr workspace,
                      cuda::CUstream stream) const override {
    const int64_t heads = shape_.batch * shape_.key_heads;
    if (shape_.has_bias_grad) {
      const size_t bytes =
          static_cast<size_t>(shape_.bias_elements()) * sizeof(float);
      const cuda::CUresult result = context_.driver->cuMemsetD8Async(
          operands[results() + 3], 0, bytes, stream);
      if (result != cuda::CUDA_SUCCESS)
        return describe_error(*context_.driver, "cuMemsetD8Async", result);
    }
    for (int64_t head = 0; head < heads; head += full_.heads) {
      const Part& part = heads - head < full_.heads ? rest_ : full_;
      const std::string error =
          run_part(part, head, operands, workspace, stream);
      if (!error.empty()) return error;
    }
    return "";
  }

 private:
  std::vector<Product> products() const {
    const int64_t s = shape_.keys, d = shape_.depth, e = shape_.value_depth;
    const auto& results = shape_.result_dtypes;
    const mpc_dtype_t f32 = MPC_DTYPE_F32;
    if (forward_)
      return {{kQuery, kKey, kScores, rows_, s, d, false, true, f32},
              {kP, kValue, kResult, rows_, e, s, false, false, results[0]}};
    return {
        {kQuery, kKey, kScores, rows_, s, d, false, true, f32},
        {kGrad, kValue, kPGrads, rows_, s, e, false, true, f32},
        {kScoreGrads, kKey, kQueryGrad, rows_, d, s, false, false, results[0]},
        {kScoreGrads, kQuery, kKeyGrad, s, d, rows_, true, false, results[1]},
        {kP, kGrad, kValueGrad, s, e, rows_, true, false, results[2]}};
  }
  // The index of the first result.
  size_t results() const { return shape_.first_result(); }
  // The number of products before the softmax.
  size_t products_before() const { return forward_ ? 1 : 2; }

  std::string make_products(Part* part) {
    for (const Product& p : products()) {
      MatmulShape product{shape_.dtype,
                          p.result_dtype,
                          shape_.dtype,
                          p.transpose_lhs,
                          p.transpose_rhs,
                          p.m,
                          p.n,
                          p.k,
                          {},
                          shape_.tf32};
      if (part->heads > 1) product.batch.push_back({part->heads, true, true});
      std::string error;
      part->products.push_back(make_cuda_matmul(product, context_, &error));
      if (!part->products.back()) return error;
    }
    return "";
  }

  // Assigns offsets in the workspace, in bytes. For 16-bit operands,
  // probabilities and their gradients are 16-bit and stored separately from the
  // scores. Gradients of a bias are summed from those of the scaled scores,
  // which replace those of the probabilities.
  void lay_out() {
    const auto add = [&](size_t bytes) {
      const size_t offset = workspace_bytes_;
      workspace_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
      return offset;
    };
    const size_t elements =
        static_cast<size_t>(full_.heads * rows_ * shape_.keys);
    const bool narrow = shape_.dtype != MPC_DTYPE_F32;
    offsets_[kScores] = add(elements * 4);
    offsets_[kP] = narrow ? add(elements * 2) : offsets_[kScores];
    if (!forward_) {
      offsets_[kPGrads] = add(elements * 4);
      const bool separate = narrow || shape_.has_bias_grad;
      offsets_[kScoreGrads] = separate
                                  ? add(elements * mpc_dtype_size(shape_.dtype))
                                  : offsets_[kPGrads];
    }
    size_t inner = 0;
    for (const Part* part : {&full_, &rest_})
      for (const auto& product : part->products)
        inner = std::max(inner, product->workspace_bytes());
    inner_offset_ = add(inner);
  }

  std::string run_part(const Part& part, int64_t head,
                       const CUdeviceptr* operands, CUdeviceptr workspace,
                       cuda::CUstream stream) const {
    CUdeviceptr buffers[kNumBuffers] = {};
    const auto set = [&](Buffer buffer, size_t operand, int64_t elements,
                         mpc_dtype_t dtype) {
      buffers[buffer] =
          operands[operand] +
          static_cast<size_t>(head * elements) * mpc_dtype_size(dtype);
    };
    const size_t first = forward_ ? 0 : 1;
    set(kQuery, first, rows_ * shape_.depth, shape_.dtype);
    set(kKey, first + 1, shape_.keys * shape_.depth, shape_.dtype);
    set(kValue, first + 2, shape_.keys * shape_.value_depth, shape_.dtype);
    const int64_t result = rows_ * shape_.value_depth;
    if (forward_) {
      set(kResult, results(), result, shape_.result_dtypes[0]);
    } else {
      set(kGrad, 0, result, shape_.dtype);
      set(kResult, 4, result, shape_.dtype);
      set(kQueryGrad, results(), rows_ * shape_.depth, shape_.result_dtypes[0]);
      set(kKeyGrad, results() + 1, shape_.keys * shape_.depth,
          shape_.result_dtypes[1]);
      set(kValueGrad, results() + 2, shape_.keys * shape_.value_depth,
          shape_.result_dtypes[2]);
    }
    for (Buffer buffer : {kScores, kPGrads, kP, kScoreGrads})
      buffers[buffer] = workspace + offsets_[buffer];
    const CUdeviceptr sums = operands[forward_ ? results() + 1 : 5] +
                             static_cast<size_t>(head * rows_) * sizeof(float);
    const CUdeviceptr bias_grad =
        shape_.has_bias_grad ? operands[results() + 3] : CUdeviceptr{0};

    const std::vector<Product> all = products();
    std::string error;
    for (size_t i = 0; i < all.size() && error.empty(); ++i) {
      if (i == products_before())
        error =
            run_softmax(part, head, buffers, sums, operands, bias_grad, stream);
      if (!error.empty()) break;
      const CUdeviceptr factors[] = {buffers[all[i].lhs], buffers[all[i].rhs],
                                     buffers[all[i].result]};
      error =
          part.products[i]->enqueue(factors, workspace + inner_offset_, stream);
    }
    return error;
  }

  // `sums` are the high parts of the sums; the low ones follow those of all
  // heads. `head` is the part's first head of the keys.
  std::string run_softmax(const Part& part, int64_t head, CUdeviceptr* buffers,
                          CUdeviceptr sums, const CUdeviceptr* operands,
                          CUdeviceptr bias_grad, cuda::CUstream stream) const {
    CUdeviceptr rests =
        sums + static_cast<size_t>(shape_.rows()) * sizeof(float);
    AttentionParams params{part.heads * rows_,
                           static_cast<int32_t>(shape_.queries),
                           static_cast<int32_t>(shape_.keys),
                           static_cast<int32_t>(shape_.value_depth),
                           shape_.causal,
                           shape_.scale,
                           shape_.softcap,
                           static_cast<int32_t>(shape_.heads),
                           head * (shape_.heads / shape_.key_heads),
                           {},
                           {},
                           static_cast<int32_t>(shape_.replacing),
                           nullptr,
                           nullptr,
                           shape_.ratio,
                           shape_.index};
    for (size_t i = 0; i < shape_.bias_count; ++i) {
      params.biases[i] =
          reinterpret_cast<const float*>(operands[shape_.first_bias() + i]);
      params.bias_strides[i] = shape_.biases[i];
    }
    if (shape_.has_dropout) {
      params.seed = reinterpret_cast<const int64_t*>(operands[shape_.seed()]);
      params.step =
          reinterpret_cast<const int64_t*>(operands[shape_.seed() + 1]);
    }
    constexpr int64_t kWarp = 32;
    CUdeviceptr bias_terms = bias_grad ? buffers[kPGrads] : CUdeviceptr{0};
    void* forward[] = {&params, &buffers[kScores], &buffers[kP], &sums, &rests};
    void* backward[] = {&params,
                        &buffers[kScores],
                        &buffers[kPGrads],
                        &sums,
                        &rests,
                        &buffers[kGrad],
                        &buffers[kResult],
                        &buffers[kP],
                        &buffers[kScoreGrads],
                        &bias_terms};
    const std::string error =
        launch(*context_.driver, function_, params.rows * kWarp, stream,
               forward_ ? forward : backward);
    if (!bias_grad || !error.empty()) return error;
    int64_t count = shape_.bias_elements();
    void* parameters[] = {&params, &bias_terms, &bias_grad, &count};
    return launch(*context_.driver, bias_grad_function_, count, stream,
                  parameters);
  }

  const bool forward_;
  const AttentionShape shape_;
  const CudaContext context_;  // A copy, which keeps module and handle.
  const std::string why_;
  const int64_t score_bytes_;
  const int64_t rows_;  // Queries of the heads that share keys.
  std::string function_name_;
  cuda::CUfunction function_ = nullptr, bias_grad_function_ = nullptr;
  Part full_, rest_;
  size_t offsets_[kNumBuffers] = {};
  size_t inner_offset_ = 0, workspace_bytes_ = 0;
};

}  // namespace

std::unique_ptr<CudaKernel> make_composed_attention(const AttentionShape& shape,
                                                    const CudaContext& context,
                                                    std::string why,
                                                    std::string* error,
                                                    int64_t score_bytes) {
  auto kernel = std::make_unique<ComposedAttention>(
      shape, context, std::move(why), score_bytes);
  *error = kernel->make();
  if (!error->empty()) return nullptr;
  return kernel;
}

}  // namespace mpc::kernels
