#include "kernels/cuda/cublaslt/matmul_layout.h"

#include <algorithm>

namespace mpc::kernels {
namespace {

// In keys, by Epilogue.
constexpr const char* kNamesOfEpilogues[] = {"", " add", " bias", " gelu",
                                             " gelu_grad"};

// Each call is a launch in every step.
constexpr int64_t kMaxCalls = 1 << 16;

cuda::cudaDataType cuda_type(mpc_dtype_t dtype) {
  switch (dtype) {
    case MPC_DTYPE_F16:
      return cuda::CUDA_R_16F;
    case MPC_DTYPE_BF16:
      return cuda::CUDA_R_16BF;
    case MPC_DTYPE_F8E4M3:
      return cuda::CUDA_R_8F_E4M3;
    case MPC_DTYPE_F8E5M2:
      return cuda::CUDA_R_8F_E5M2;
    default:
      return cuda::CUDA_R_32F;
  }
}

// Normalizes the product, so that more shapes share a form.
MatmulShape normalize(MatmulShape s) {
  // A vector is its own transpose.
  if (s.m == 1 || s.k == 1) s.transpose_lhs = false;
  if (s.n == 1 || s.k == 1) s.transpose_rhs = false;
  // A batch of left matrices with one right matrix is a single left matrix with
  // more rows. The library's extents are 31-bit numbers.
  while (!s.batch.empty() && !s.batch.back().in_rhs && !s.transpose_lhs &&
         s.m <= INT32_MAX / s.batch.back().extent) {
    s.m *= s.batch.back().extent;
    s.batch.pop_back();
  }
  return s;
}

// Strides of a dimension of the batch, in elements.
struct BatchStrides {
  int64_t lhs, rhs, result;
};

std::vector<BatchStrides> batch_strides(const MatmulShape& s) {
  std::vector<BatchStrides> strides(s.batch.size());
  int64_t lhs = s.m * s.k, rhs = s.k * s.n, result = s.m * s.n;
  for (size_t i = s.batch.size(); i-- > 0;) {
    const BatchDim& dim = s.batch[i];
    strides[i] = {dim.in_lhs ? lhs : 0, dim.in_rhs ? rhs : 0, result};
    if (dim.in_lhs) lhs *= dim.extent;
    if (dim.in_rhs) rhs *= dim.extent;
    result *= dim.extent;
  }
  return strides;
}

uint32_t alignment(const std::vector<GemmLayout::Offsets>& calls,
                   size_t GemmLayout::Offsets::*offset, size_t stride) {
  size_t all = 64 | stride;
  for (const GemmLayout::Offsets& call : calls) all |= call.*offset;
  return static_cast<uint32_t>(all & (~all + 1));
}

// Not inlined: `key` would be 10 kB long.
[[gnu::noinline]] void append(std::string* key, const char* before,
                              int64_t number) {
  *key += before;
  *key += std::to_string(number);
}

void append(std::string* key, const ColumnMajor& matrix) {
  append(key, " ", static_cast<int64_t>(matrix.rows));
  append(key, "x", static_cast<int64_t>(matrix.columns));
  append(key, "/", matrix.ld);
  append(key, "/", matrix.stride);
}

// Checks what tensor cores before Blackwell require of FP8: both operands
// contiguous along k, and rows that begin at multiples of 16 bytes.
bool check_fp8(const MatmulShape& s, std::string* error) {
  if (s.transpose_lhs || !s.transpose_rhs) {
    *error = "operands of 8 bit must both have rows along the sum";
    return false;
  }
  if (s.k % 16 != 0 || s.n % 16 != 0) {
    *error =
        "operands of 8 bit must have extents that are multiples of 16, "
        "found a sum over " +
        std::to_string(s.k) + " and " + std::to_string(s.n) + " columns";
    return false;
  }
  return true;
}

// Fast accumulation truncates a sum to 14 bits after every 32 terms: an H200
// loses 2 % of a sum of 4096 equal terms. With this number of terms it loses at
// most 2^-8, like a bf16 result.
constexpr int64_t kMaxFastSum = 1024;

}  // namespace

bool gemm_layout(const MatmulShape& given, GemmLayout* out_layout,
                 std::string* error) {
  const MatmulShape s = normalize(given);
  if (mpc_dtype_size(s.dtype) == 1 && !check_fp8(s, error)) return false;
  GemmLayout& g = *out_layout;
  g.compute =
      s.tf32 ? cuda::CUBLAS_COMPUTE_32F_FAST_TF32 : cuda::CUBLAS_COMPUTE_32F;
  // Only products of E4M3, which are those of forward passes. Gradients are
  // E5M2; their sums are longer and cancel more.
  g.fast_accumulation = s.dtype == MPC_DTYPE_F8E4M3 &&
                        s.rhs_dtype == MPC_DTYPE_F8E4M3 && s.k <= kMaxFastSum;
  g.scaled = s.scaled;
  g.epilogue = s.epilogue;
  g.result = s.result_operand();
  g.type_a = cuda_type(s.rhs_dtype);
  g.type_b = cuda_type(s.dtype);
  g.result_type = cuda_type(s.result_dtype);
  g.op_a = s.transpose_rhs ? cuda::CUBLAS_OP_T : cuda::CUBLAS_OP_N;
  g.op_b = s.transpose_lhs ? cuda::CUBLAS_OP_T : cuda::CUBLAS_OP_N;
  const uint64_t m = static_cast<uint64_t>(s.m), n = static_cast<uint64_t>(s.n),
                 k = static_cast<uint64_t>(s.k);
  g.a = s.transpose_rhs ? ColumnMajor{k, n, s.k, 0} : ColumnMajor{n, k, s.n, 0};
  g.b = s.transpose_lhs ? ColumnMajor{m, k, s.m, 0} : ColumnMajor{k, m, s.k, 0};
  g.d = {n, m, s.n, 0};
  g.batch = 1;

  // The longest dimension becomes the library's batch, the others become calls.
  const std::vector<BatchStrides> strides = batch_strides(s);
  size_t longest = 0;
  for (size_t i = 1; i < s.batch.size(); ++i)
    if (s.batch[i].extent > s.batch[longest].extent) longest = i;
  int64_t calls = 1;
  for (size_t i = 0; i < s.batch.size() && calls <= kMaxCalls; ++i)
    if (i != longest) calls *= std::min(s.batch[i].extent, kMaxCalls + 1);
  if (calls > kMaxCalls ||
      (!s.batch.empty() && s.batch[longest].extent > INT32_MAX)) {
    *error =
        "leading dimensions that broadcast like these would take more "
        "than " +
        std::to_string(kMaxCalls) + " products of matrices";
    return false;
  }
  const int64_t element = static_cast<int64_t>(mpc_dtype_size(s.dtype));
  const int64_t wide = static_cast<int64_t>(mpc_dtype_size(s.result_dtype));
  g.calls = {{0, 0, 0}};
  for (size_t i = 0; i < s.batch.size(); ++i) {
    if (i == longest) {
      g.batch = static_cast<int32_t>(s.batch[i].extent);
      g.a.stride = strides[i].rhs;
      g.b.stride = strides[i].lhs;
      g.d.stride = strides[i].result;
      continue;
    }
    std::vector<GemmLayout::Offsets> more;
    for (const GemmLayout::Offsets& call : g.calls)
      for (int64_t j = 0; j < s.batch[i].extent; ++j)
        more.push_back(
            {call.a + static_cast<size_t>(j * strides[i].rhs * element),
             call.b + static_cast<size_t>(j * strides[i].lhs * element),
             call.d + static_cast<size_t>(j * strides[i].result * wide)});
    g.calls = std::move(more);
  }
  using Offsets = GemmLayout::Offsets;
  g.align_a = alignment(g.calls, &Offsets::a,
                        static_cast<size_t>(g.a.stride * element));
  g.align_b = alignment(g.calls, &Offsets::b,
                        static_cast<size_t>(g.b.stride * element));
  g.align_d =
      alignment(g.calls, &Offsets::d, static_cast<size_t>(g.d.stride * wide));
  return true;
}

std::string GemmLayout::key() const {
  std::string key = "matmul";
  append(&key, " ", type_b);
  if (type_a != type_b) append(&key, "x", type_a);
  if (compute != cuda::CUBLAS_COMPUTE_32F) key += " tf32";
  if (fast_accumulation) key += " fast";
  if (scaled) key += " scaled";
  key += kNamesOfEpilogues[static_cast<size_t>(epilogue)];
  append(&key, " ", result_type);
  key += op_a == cuda::CUBLAS_OP_T ? " T" : " N";
  key += op_b == cuda::CUBLAS_OP_T ? "T" : "N";
  for (const ColumnMajor* matrix : {&a, &b, &d}) append(&key, *matrix);
  append(&key, " ", batch);
  append(&key, " ", align_a);
  append(&key, ",", align_b);
  append(&key, ",", align_d);
  return key;
}

}  // namespace mpc::kernels
