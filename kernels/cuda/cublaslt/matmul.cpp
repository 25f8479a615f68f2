// Matrix product by cuBLASLt. The fastest of its algorithms is found by running
// them when a kernel is made, once per shape and device.

#include <cstdio>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "kernels/cuda/autotune_buffers.h"
#include "kernels/cuda/cublaslt/epilogue.h"
#include "kernels/cuda/cublaslt/matmul_layout.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/shared.h"

namespace mpc::kernels {
namespace {

using cuda::CublasLt;
using cuda::cublasLtMatmulAlgo_t;
using cuda::cublasLtMatmulHeuristicResult_t;

// What NVIDIA recommends for Hopper; enough for any split along k.
constexpr uint64_t kMaxWorkspace = 32 << 20;
constexpr int kCandidates = 16;

// The allowed ways to combine partial sums of a sum that is split along k. An
// f32 result may hold partial sums; a 16-bit result would round each of them,
// and f16 could overflow even if the whole sum does not.
uint32_t allowed_reductions(const GemmLayout& layout, bool deterministic) {
  // Partial sums are added by one thread in order, or sums are not split.
  if (deterministic || layout.result_type != cuda::CUDA_R_32F)
    return cuda::CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  return cuda::CUBLASLT_REDUCTION_SCHEME_MASK;
}

// True if the algorithm uses one of the reductions in `allowed`.
bool reduces_as_allowed(const CublasLt& library,
                        const cublasLtMatmulAlgo_t& algo, uint32_t allowed) {
  uint32_t scheme = 0;
  size_t written = 0;
  return library.cublasLtMatmulAlgoConfigGetAttribute(
             &algo, cuda::CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme,
             sizeof scheme, &written) == cuda::CUBLAS_STATUS_SUCCESS &&
         (scheme & ~allowed) == 0;
}

// A handle of the library with the function that destroys it.
template <typename Handle>
using Destroy = cuda::cublasStatus_t (*)(Handle);

template <typename Handle>
class Owned {
 public:
  Owned() = default;
  Owned(const Owned&) = delete;
  ~Owned() {
    if (handle_) destroy_(handle_);
  }
  // The location to which the library writes the handle.
  Handle* receive(Destroy<Handle> destroy) {
    destroy_ = destroy;
    return &handle_;
  }
  operator Handle() const { return handle_; }

 private:
  Handle handle_ = nullptr;
  Destroy<Handle> destroy_ = nullptr;
};

// The library's description of a product.
class Description {
 public:
  // Returns what failed.
  std::string make(const CublasLt& library, const GemmLayout& layout) {
    std::string error =
        check(library, "cublasLtMatmulDescCreate",
              library.cublasLtMatmulDescCreate(
                  desc_.receive(library.cublasLtMatmulDescDestroy),
                  layout.compute, cuda::CUDA_R_32F));
    const std::pair<cuda::cublasLtMatmulDescAttributes_t, int32_t> ops[] = {
        {cuda::CUBLASLT_MATMUL_DESC_TRANSA, layout.op_a},
        {cuda::CUBLASLT_MATMUL_DESC_TRANSB, layout.op_b}};
    const int8_t fast = 1;
    if (error.empty() && layout.fast_accumulation)
      error = set(library, cuda::CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast,
                  sizeof fast);
    for (const auto& [attribute, op] : ops)
      if (error.empty()) error = set(library, attribute, &op, sizeof op);
    // Algorithms are requested before addresses are known. They may depend on
    // the presence of factors, but not on their addresses.
    if (error.empty() && layout.scaled)
      error = set_factors(library, kSomewhere, kSomewhere);
    if (error.empty() && has_operand(layout))
      error = make_epilogue(library, layout);
    if (error.empty())
      error = make_matrix(library, layout.type_a, layout.a, layout.batch, &a_);
    if (error.empty())
      error = make_matrix(library, layout.type_b, layout.b, layout.batch, &b_);
    if (error.empty())
      error =
          make_matrix(library, layout.result_type, layout.d, layout.batch, &d_);
    return error;
  }

  // Candidates, the best guess first; none if the library knows none.
  std::string candidates(
      const CublasLt& library, cuda::cublasLtHandle_t handle,
      const GemmLayout& layout, uint32_t reductions,
      std::vector<cublasLtMatmulHeuristicResult_t>* out_results) const {
    Owned<cuda::cublasLtMatmulPreference_t> preference;
    std::string error =
        check(library, "cublasLtMatmulPreferenceCreate",
              library.cublasLtMatmulPreferenceCreate(
                  preference.receive(library.cublasLtMatmulPreferenceDestroy)));
    const auto set = [&](cuda::cublasLtMatmulPreferenceAttributes_t attribute,
                         auto value) {
      if (error.empty())
        error = check(library, "cublasLtMatmulPreferenceSetAttribute",
                      library.cublasLtMatmulPreferenceSetAttribute(
                          preference, attribute, &value, sizeof value));
    };
    set(cuda::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMaxWorkspace);
    set(cuda::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
    set(cuda::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, layout.align_a);
    set(cuda::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, layout.align_b);
    set(cuda::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, layout.align_d);
    set(cuda::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, layout.align_d);
    if (!error.empty()) return error;
    out_results->resize(kCandidates);
    int found = 0;
    error = check(library, "cublasLtMatmulAlgoGetHeuristic",
                  library.cublasLtMatmulAlgoGetHeuristic(
                      handle, desc_, a_, b_, d_, d_, preference, kCandidates,
                      out_results->data(), &found));
    out_results->resize(error.empty() ? static_cast<size_t>(found) : 0);
    return error;
  }

  // The workspace that the algorithm needs for this product, if it can run it.
  std::optional<size_t> workspace_of(const CublasLt& library,
                                     cuda::cublasLtHandle_t handle,
                                     const cublasLtMatmulAlgo_t& algo) const {
    cublasLtMatmulHeuristicResult_t result = {};
    if (library.cublasLtMatmulAlgoCheck(handle, desc_, a_, b_, d_, d_, &algo,
                                        &result) !=
            cuda::CUBLAS_STATUS_SUCCESS ||
        result.state != cuda::CUBLAS_STATUS_SUCCESS ||
        result.workspaceSize > kMaxWorkspace)
      return std::nullopt;
    return result.workspaceSize;
  }

  std::string run(const CublasLt& library, cuda::cublasLtHandle_t handle,
                  const GemmLayout& layout, const cublasLtMatmulAlgo_t& algo,
                  size_t workspace_bytes, const cuda::CUdeviceptr* operands,
                  cuda::CUdeviceptr workspace, cuda::CUstream stream) const {
    const bool adds = layout.epilogue == Epilogue::kAdd;
    const float one = 1, beta = adds ? 1 : 0;
    if (layout.scaled) {
      std::string error = set_factors(library, operands[2], operands[3]);
      if (!error.empty()) return error;
    }
    if (has_operand(layout)) {
      std::string error = set_operand(library, layout, operands);
      if (!error.empty()) return error;
    }
    const cuda::CUdeviceptr d = operands[layout.result],
                            c = adds ? operands[2] : d;
    const auto at = [](cuda::CUdeviceptr base, size_t offset) {
      return reinterpret_cast<void*>(base + offset);
    };
    for (const GemmLayout::Offsets& call : layout.calls) {
      const cuda::cublasStatus_t status = library.cublasLtMatmul(
          handle, desc_, &one, at(operands[1], call.a), a_,
          at(operands[0], call.b), b_, &beta, at(c, call.d), d_, at(d, call.d),
          d_, &algo, at(workspace, 0), workspace_bytes, stream);
      if (status != cuda::CUBLAS_STATUS_SUCCESS)
        return describe_error(library, "cublasLtMatmul", status);
    }
    return "";
  }

 private:
  // A placeholder for a device address that is not read.
  static constexpr cuda::CUdeviceptr kSomewhere = 256;

  // A is the right operand. A captured call keeps the addresses set here.
  std::string set_factors(const CublasLt& library, cuda::CUdeviceptr lhs,
                          cuda::CUdeviceptr rhs) const {
    const std::pair<cuda::cublasLtMatmulDescAttributes_t, cuda::CUdeviceptr>
        factors[] = {{cuda::CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, rhs},
                     {cuda::CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, lhs}};
    std::string error;
    for (const auto& [attribute, address] : factors) {
      const void* pointer = reinterpret_cast<const void*>(address);
      if (error.empty())
        error = set(library, attribute, &pointer, sizeof pointer);
    }
    return error;
  }

  // Whether the description holds the address of an operand of the epilogue.
  static bool has_operand(const GemmLayout& layout) {
    return has_bias(layout.epilogue) || has_argument(layout.epilogue);
  }

  std::string make_epilogue(const CublasLt& library, const GemmLayout& layout) {
    const uint32_t epilogue = layout.epilogue == Epilogue::kBias
                                  ? cuda::CUBLASLT_EPILOGUE_BIAS
                              : layout.epilogue == Epilogue::kGelu
                                  ? cuda::CUBLASLT_EPILOGUE_GELU_AUX_BIAS
                                  : cuda::CUBLASLT_EPILOGUE_DGELU;
    std::string error = set(library, cuda::CUBLASLT_MATMUL_DESC_EPILOGUE,
                            &epilogue, sizeof epilogue);
    if (error.empty() && has_argument(layout.epilogue))
      error = set(library, cuda::CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD,
                  &layout.d.ld, sizeof layout.d.ld);
    // The library derives alignments from the addresses.
    constexpr cuda::CUdeviceptr k64 = 64,
                                somewhere[] = {k64, k64, k64, k64, k64};
    return error.empty() ? set_operand(library, layout, somewhere) : error;
  }

  std::string set_operand(const CublasLt& library, const GemmLayout& layout,
                          const cuda::CUdeviceptr* operands) const {
    const size_t at = layout.epilogue == Epilogue::kGelu ? 4 : 2;
    const void *bias = reinterpret_cast<const void*>(operands[2]),
               *argument = reinterpret_cast<const void*>(operands[at]);
    std::string error;
    if (has_bias(layout.epilogue))
      error = set(library, cuda::CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                  sizeof bias);
    if (!error.empty() || !has_argument(layout.epilogue)) return error;
    return set(library, cuda::CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
               &argument, sizeof argument);
  }

  std::string set(const CublasLt& library,
                  cuda::cublasLtMatmulDescAttributes_t attribute,
                  const void* value, size_t bytes) const {
    return check(
        library, "cublasLtMatmulDescSetAttribute",
        library.cublasLtMatmulDescSetAttribute(desc_, attribute, value, bytes));
  }

  static std::string check(const CublasLt& library, const char* call,
                           cuda::cublasStatus_t status) {
    if (status == cuda::CUBLAS_STATUS_SUCCESS) return "";
    return describe_error(library, call, status);
  }

  static std::string make_matrix(const CublasLt& library,
                                 cuda::cudaDataType type,
                                 const ColumnMajor& matrix, int32_t batch,
                                 Owned<cuda::cublasLtMatrixLayout_t>* layout) {
    std::string error =
        check(library, "cublasLtMatrixLayoutCreate",
              library.cublasLtMatrixLayoutCreate(
                  layout->receive(library.cublasLtMatrixLayoutDestroy), type,
                  matrix.rows, matrix.columns, matrix.ld));
    if (!error.empty() || batch == 1) return error;
    const char* const call = "cublasLtMatrixLayoutSetAttribute";
    error = check(library, call,
                  library.cublasLtMatrixLayoutSetAttribute(
                      *layout, cuda::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                      sizeof batch));
    if (!error.empty()) return error;
    return check(library, call,
                 library.cublasLtMatrixLayoutSetAttribute(
                     *layout, cuda::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                     &matrix.stride, sizeof matrix.stride));
  }

  Owned<cuda::cublasLtMatmulDesc_t> desc_;
  Owned<cuda::cublasLtMatrixLayout_t> a_, b_, d_;
};

// An algorithm, and how it was chosen.
struct Choice {
  cublasLtMatmulAlgo_t algo;
  size_t workspace_bytes;
  std::string why;
  bool timed;
};

class CudaMatmul final : public CudaKernel {
 public:
  CudaMatmul(const CudaContext& context, cuda::cublasLtHandle_t handle,
             GemmLayout layout)
      : context_(context), handle_(handle), layout_(std::move(layout)) {}

  std::string choose(const MatmulShape& shape);

  std::string implementation() const override {
    int32_t id = -1;
    size_t written = 0;
    library().cublasLtMatmulAlgoConfigGetAttribute(
        &choice_.algo, cuda::CUBLASLT_ALGO_CONFIG_ID, &id, sizeof id, &written);
    return "cublasLt:algo " + std::to_string(id) + ", " + choice_.why;
  }
  size_t workspace_bytes() const override { return choice_.workspace_bytes; }
  std::string enqueue(const cuda::CUdeviceptr* operands,
                      cuda::CUdeviceptr workspace,
                      cuda::CUstream stream) const override {
    return description_.run(library(), handle_, layout_, choice_.algo,
                            choice_.workspace_bytes, operands, workspace,
                            stream);
  }

 private:
  const CublasLt& library() const { return *context_.cublaslt; }
  uint32_t reductions() const {
    return allowed_reductions(layout_, context_.deterministic);
  }
  // Runs the choice once. Returns what failed; "" also if the device has no
  // memory for the run.
  std::string warm_up(const MatmulShape& shape) const;
  bool take_stored(const MatmulShape& shape,
                   const std::optional<std::string>& stored);
  std::string take_fastest(
      const MatmulShape& shape,
      const std::vector<cublasLtMatmulHeuristicResult_t>& candidates);

  // A copy, which keeps the handle.
  const CudaContext context_;
  const cuda::cublasLtHandle_t handle_;
  const GemmLayout layout_;
  Description description_;
  Choice choice_ = {};
};

std::string hexadecimal(const cublasLtMatmulAlgo_t& algo) {
  std::string text;
  char digits[17];
  for (uint64_t word : algo.data) {
    std::snprintf(digits, sizeof digits, "%016llx",
                  static_cast<unsigned long long>(word));
    text += digits;
  }
  return text;
}

bool from_hexadecimal(const std::string& text, cublasLtMatmulAlgo_t* algo) {
  if (text.size() != 16 * std::size(algo->data)) return false;
  for (size_t i = 0; i < std::size(algo->data); ++i) {
    algo->data[i] = 0;
    for (char c : text.substr(16 * i, 16)) {
      if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
      const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
      algo->data[i] = algo->data[i] << 4 | static_cast<uint64_t>(digit);
    }
  }
  return true;
}

}  // namespace

std::vector<TensorDesc> autotune_operands(const MatmulShape& s) {
  int64_t lhs = 1, rhs = 1, result = 1;
  for (const BatchDim& dim : s.batch) {
    if (dim.in_lhs) lhs *= dim.extent;
    if (dim.in_rhs) rhs *= dim.extent;
    result *= dim.extent;
  }
  std::vector<TensorDesc> operands = {{s.dtype, {lhs, s.m, s.k}},
                                      {s.rhs_dtype, {rhs, s.k, s.n}}};
  if (s.scaled) operands.resize(4, {MPC_DTYPE_F32, {}});
  // The result, and an addend or argument like it.
  const TensorDesc like_result = {s.result_dtype, {result, s.m, s.n}};
  if (has_bias(s.epilogue))
    operands.push_back({s.result_dtype, {s.n}});
  else if (s.epilogue != Epilogue::kNone)
    operands.push_back(like_result);
  operands.push_back(like_result);
  if (s.epilogue == Epilogue::kGelu) operands.push_back(like_result);
  return operands;
}

namespace {

std::string CudaMatmul::warm_up(const MatmulShape& shape) const {
  std::string no_room;
  const std::unique_ptr<AutotuneBuffers> buffers =
      AutotuneBuffers::make(context_, autotune_operands(shape),
                            choice_.workspace_bytes, false, &no_room);
  if (!buffers) return "";
  return buffers->warm_up([&](cuda::CUstream stream) {
    return enqueue(buffers->operands(), buffers->workspace(), stream);
  });
}

bool CudaMatmul::take_stored(const MatmulShape& shape,
                             const std::optional<std::string>& stored) {
  cublasLtMatmulAlgo_t algo;
  if (!stored || !from_hexadecimal(*stored, &algo) ||
      !reduces_as_allowed(library(), algo, reductions()))
    return false;
  const std::optional<size_t> bytes =
      description_.workspace_of(library(), handle_, algo);
  if (!bytes) return false;
  choice_ = {algo, *bytes, "the fastest of an earlier trial", true};
  return warm_up(shape).empty();
}

std::string CudaMatmul::take_fastest(
    const MatmulShape& shape,
    const std::vector<cublasLtMatmulHeuristicResult_t>& candidates) {
  size_t workspace = 0;
  for (const auto& candidate : candidates)
    workspace = std::max(workspace, candidate.workspaceSize);
  std::string error;
  const std::unique_ptr<AutotuneBuffers> buffers = AutotuneBuffers::make(
      context_, autotune_operands(shape), workspace, true, &error);
  if (!buffers) {
    choice_ = {candidates[0].algo, candidates[0].workspaceSize,
               "first of the heuristic, as a trial failed: " + error, false};
    return "";
  }
  double best = std::numeric_limits<double>::infinity();
  std::string first_error;
  for (const auto& candidate : candidates) {
    double microseconds;
    bool fatal;
    error = buffers->time(
        [&](cuda::CUstream stream) {
          return description_.run(library(), handle_, layout_, candidate.algo,
                                  candidate.workspaceSize, buffers->operands(),
                                  buffers->workspace(), stream);
        },
        best, &microseconds, &fatal);
    if (fatal) return error;
    if (!error.empty()) {
      if (first_error.empty()) first_error = error;
      continue;
    }
    if (microseconds >= best) continue;
    best = microseconds;
    char text[64];
    std::snprintf(text, sizeof text, "%.1f us, fastest of %zu", best,
                  candidates.size());
    choice_ = {candidate.algo, candidate.workspaceSize, text, true};
  }
  return best < std::numeric_limits<double>::infinity() ? "" : first_error;
}

std::string CudaMatmul::choose(const MatmulShape& shape) {
  std::string error = description_.make(library(), layout_);
  if (!error.empty()) return error;
  const StoredChoice stored = choice_in_table(
      context_, "cublaslt", library().cublasLtGetVersion(), layout_.key());
  if (!context_.deterministic && take_stored(shape, stored.find())) return "";

  std::vector<cublasLtMatmulHeuristicResult_t> found, candidates;
  error = description_.candidates(library(), handle_, layout_, reductions(),
                                  &found);
  if (!error.empty()) return error;
  for (const auto& candidate : found)
    if (candidate.state == cuda::CUBLAS_STATUS_SUCCESS &&
        candidate.workspaceSize <= kMaxWorkspace &&
        reduces_as_allowed(library(), candidate.algo, reductions()))
      candidates.push_back(candidate);
  if (candidates.empty())
    return "cublasLtMatmulAlgoGetHeuristic knows no algorithm for " +
           layout_.key();
  if (context_.deterministic) {
    // Timings, and thus choices, would differ from run to run.
    choice_ = {candidates[0].algo, candidates[0].workspaceSize,
               "first of the heuristic, for the same bits in every run", false};
    return warm_up(shape);
  }
  error = take_fastest(shape, candidates);
  if (error.empty() && choice_.timed) stored.store(hexadecimal(choice_.algo));
  return error;
}

}  // namespace

std::unique_ptr<CudaKernel> make_cublaslt_matmul(const MatmulShape& shape,
                                                 const CudaContext& context,
                                                 std::string* error) {
  GemmLayout layout;
  if (!gemm_layout(shape, &layout, error)) return nullptr;
  const cuda::cublasLtHandle_t handle =
      context.shared->cublaslt_handle(context, error);
  if (!handle) return nullptr;
  auto kernel =
      std::make_unique<CudaMatmul>(context, handle, std::move(layout));
  *error = kernel->choose(shape);
  if (!error->empty()) return nullptr;
  return kernel;
}

std::unique_ptr<CudaKernel> make_cuda_matmul(const MatmulShape& shape,
                                             const CudaContext& context,
                                             std::string* error) {
  if (has_bias(shape.epilogue) || has_argument(shape.epilogue))
    return make_cuda_epilogue(shape, context, error);
  return make_cublaslt_matmul(shape, context, error);
}

}  // namespace mpc::kernels
