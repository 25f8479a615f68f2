#include "test/cuda/fake/fake_cublaslt.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/float_types.h"
#include "kernels/gelu.h"

namespace mpc::cuda {

struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType type;
  uint64_t rows, columns;
  int64_t ld;
  int32_t batch = 1;
  int64_t stride = 0;
};

struct cublasLtMatmulDescOpaque_t {
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
  bool tf32 = false;
  int8_t fast = 0;
  const void *a_scale = nullptr, *b_scale = nullptr;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void *bias = nullptr, *aux = nullptr;
  int64_t aux_ld = 0;
};

struct cublasLtMatmulPreferenceOpaque_t {
  uint64_t workspace_bytes = 0;
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint32_t alignment[4] = {256, 256, 256, 256};
};

}  // namespace mpc::cuda

namespace mpc::test {
namespace {

using namespace cuda;

FakeCublasLt* current = nullptr;

// Marks algorithms of this fake.
constexpr uint64_t kMagic = 0x6d7063;

cublasStatus_t refuse(const std::string& why) {
  current->refusal = why;
  return CUBLAS_STATUS_INVALID_VALUE;
}

// Set by `failing`, once.
bool fails(const char* call) {
  if (current->failing != call) return false;
  current->failing.clear();
  return true;
}

size_t get_version() { return current->version; }

const char* get_status_name(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
  }
}

cublasStatus_t create(cublasLtHandle_t* handle) {
  if (fails("cublasLtCreate")) return CUBLAS_STATUS_NOT_INITIALIZED;
  ++current->handles;
  *handle = reinterpret_cast<cublasLtHandle_t>(current);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t destroy(cublasLtHandle_t) {
  --current->handles;
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Opaque>
cublasStatus_t destroy_descriptor(Opaque* descriptor) {
  --current->descriptors;
  delete descriptor;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t layout_create(cublasLtMatrixLayout_t* layout, cudaDataType type,
                             uint64_t rows, uint64_t columns, int64_t ld) {
  if (fails("cublasLtMatrixLayoutCreate")) return CUBLAS_STATUS_ALLOC_FAILED;
  if (ld < static_cast<int64_t>(rows)) return refuse("ld is below the rows");
  ++current->descriptors;
  *layout = new cublasLtMatrixLayoutOpaque_t{type, rows, columns, ld};
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T>
cublasStatus_t set(T* place, const void* value, size_t bytes) {
  if (bytes != sizeof *place) return refuse("attribute of another size");
  std::memcpy(place, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t layout_set(cublasLtMatrixLayout_t layout,
                          cublasLtMatrixLayoutAttribute_t attribute,
                          const void* value, size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return set(&layout->batch, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return set(&layout->stride, value, bytes);
  }
  return refuse("unknown attribute of a layout");
}

cublasStatus_t desc_create(cublasLtMatmulDesc_t* desc,
                           cublasComputeType_t compute, cudaDataType scale) {
  if ((compute != CUBLAS_COMPUTE_32F &&
       compute != CUBLAS_COMPUTE_32F_FAST_TF32) ||
      scale != CUDA_R_32F)
    return refuse("not computed in f32");
  ++current->descriptors;
  *desc = new cublasLtMatmulDescOpaque_t;
  (*desc)->tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t desc_set(cublasLtMatmulDesc_t desc,
                        cublasLtMatmulDescAttributes_t attribute,
                        const void* value, size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return set(&desc->a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return set(&desc->b, value, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
      if (fails("A_SCALE_POINTER")) return CUBLAS_STATUS_NOT_SUPPORTED;
      return set(&desc->a_scale, value, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
      if (fails("B_SCALE_POINTER")) return CUBLAS_STATUS_NOT_SUPPORTED;
      return set(&desc->b_scale, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return set(&desc->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return set(&desc->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return set(&desc->aux, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return set(&desc->aux_ld, value, bytes);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM:
      return set(&desc->fast, value, bytes);
  }
  return refuse("unknown attribute of a product");
}

cublasStatus_t preference_create(cublasLtMatmulPreference_t* preference) {
  ++current->descriptors;
  *preference = new cublasLtMatmulPreferenceOpaque_t;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t preference_set(cublasLtMatmulPreference_t preference,
                              cublasLtMatmulPreferenceAttributes_t attribute,
                              const void* value, size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return set(&preference->workspace_bytes, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return set(&preference->reductions, value, bytes);
    default:
      return set(
          &preference->alignment[attribute -
                                 CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES],
          value, bytes);
  }
}

bool is_fp8(cudaDataType type) {
  return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

bool is_scaled(cublasLtMatmulDesc_t desc) {
  return desc->a_scale || desc->b_scale;
}

// Checks the rules of Hopper.
std::string check_fp8(cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                      cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t d) {
  if (!is_fp8(a->type) || !is_fp8(b->type)) return "only one operand is FP8";
  if (a->type == CUDA_R_8F_E5M2 && b->type == CUDA_R_8F_E5M2)
    return "both operands are E5M2";
  if (desc->a != CUBLAS_OP_T || desc->b != CUBLAS_OP_N)
    return "FP8 is multiplied as TN alone";
  if (a->ld % 16 != 0 || b->ld % 16 != 0)
    return "columns of FP8 do not begin at multiples of 16 bytes";
  if (d->rows % 8 != 0) return "columns of D are not aligned";
  if (d->type != CUDA_R_16BF && d->type != CUDA_R_32F)
    return "D is neither bf16 nor f32";
  return "";
}

bool has_epilogue(cublasLtMatmulDesc_t desc) {
  return desc->epilogue != CUBLASLT_EPILOGUE_DEFAULT;
}

// What the library requires of epilogues.
std::string check_epilogue(cublasLtMatmulDesc_t desc,
                           cublasLtMatrixLayout_t d) {
  const bool is_bias = desc->epilogue == CUBLASLT_EPILOGUE_BIAS,
             is_gelu = desc->epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
  if (!is_bias && !is_gelu && desc->epilogue != CUBLASLT_EPILOGUE_DGELU)
    return "unknown epilogue";
  if (d->batch != 1) return "an epilogue of batches is not expected";
  if ((is_bias || is_gelu) != !!desc->bias)
    return "a bias for the derivative, or none for an epilogue with one";
  if (is_bias)
    return desc->aux || desc->aux_ld ? "an argument without GELU" : "";
  if (!desc->aux || desc->aux_ld % 8 != 0 ||
      desc->aux_ld < static_cast<int64_t>(d->rows))
    return "the argument of GELU has no place";
  return "";
}

// Checks that the matrices are compatible and have types that the library
// supports.
std::string check(cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                  cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                  cublasLtMatrixLayout_t d) {
  const bool ta = desc->a == CUBLAS_OP_T, tb = desc->b == CUBLAS_OP_T;
  if ((ta ? a->columns : a->rows) != d->rows) return "rows of A and D differ";
  if ((tb ? b->rows : b->columns) != d->columns)
    return "columns of B and D differ";
  if ((ta ? a->rows : a->columns) != (tb ? b->columns : b->rows))
    return "the summed extents of A and B differ";
  if (c->rows != d->rows || c->columns != d->columns || c->type != d->type)
    return "C and D differ";
  if (a->batch != d->batch || b->batch != d->batch || c->batch != d->batch)
    return "batches differ";
  if (d->batch > 1 && d->stride < d->ld * static_cast<int64_t>(d->columns))
    return "matrices of D overlap";
  if (is_fp8(a->type) || is_fp8(b->type)) return check_fp8(desc, a, b, d);
  if (desc->fast) return "fast accumulation is for FP8";
  if (is_scaled(desc)) return "factors in memory are for FP8";
  if (a->type != b->type) return "A and B have different types";
  if (desc->tf32 && a->type != CUDA_R_32F) return "TF32 is not for this type";
  if (d->type != a->type && d->type != CUDA_R_32F)
    return "D is neither of A's type nor f32";
  return has_epilogue(desc) ? check_epilogue(desc, d) : "";
}

// Algorithms for products with factors in memory are not valid for those
// without.
cublasLtMatmulAlgo_t algorithm(size_t index, bool scaled) {
  return {{index, kMagic, scaled ? 1u : 0u, 2, 3, 4, 5, 0xfedcba9876543210u}};
}

bool is_ours(const cublasLtMatmulAlgo_t& algo, bool scaled) {
  if (algo.data[0] >= current->algorithms.size()) return false;
  const cublasLtMatmulAlgo_t ours = algorithm(algo.data[0], scaled);
  return std::memcmp(&ours, &algo, sizeof algo) == 0;
}

bool is_ours(const cublasLtMatmulAlgo_t& algo) {
  return is_ours(algo, false) || is_ours(algo, true);
}

cublasStatus_t get_heuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                             cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                             cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                             cublasLtMatmulPreference_t preference,
                             int requested,
                             cublasLtMatmulHeuristicResult_t* results,
                             int* found) {
  ++current->heuristics;
  const std::string error = check(desc, a, b, c, d);
  if (!error.empty()) return refuse(error);
  for (uint32_t alignment : preference->alignment)
    if (alignment == 0 || alignment > 64 || (alignment & (alignment - 1)) != 0)
      return refuse("operands are not aligned to that");
  if (fails("cublasLtMatmulAlgoGetHeuristic"))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  *found = 0;
  if (has_epilogue(desc) && !current->has_epilogues)
    return CUBLAS_STATUS_SUCCESS;
  for (size_t i = 0; i < current->algorithms.size() && *found < requested;
       ++i) {
    const FakeCublasLt::Algorithm& known = current->algorithms[i];
    if (known.workspace_bytes > preference->workspace_bytes ||
        (!known.ignores_mask &&
         (known.reduction & ~preference->reductions) != 0))
      continue;
    results[(*found)++] = {algorithm(i, is_scaled(desc)),
                           known.workspace_bytes,
                           CUBLAS_STATUS_SUCCESS,
                           1,
                           {}};
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t algo_check(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                          cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                          cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                          const cublasLtMatmulAlgo_t* algo,
                          cublasLtMatmulHeuristicResult_t* result) {
  const std::string error = check(desc, a, b, c, d);
  if (!error.empty()) return refuse(error);
  if (!is_ours(*algo, is_scaled(desc)) ||
      current->algorithms[algo->data[0]].refused)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  result->state = CUBLAS_STATUS_SUCCESS;
  result->workspaceSize = current->algorithms[algo->data[0]].workspace_bytes;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t algo_get(const cublasLtMatmulAlgo_t* algo,
                        cublasLtMatmulAlgoConfigAttributes_t attribute,
                        void* value, size_t bytes, size_t* written) {
  if (!is_ours(*algo)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const size_t index = algo->data[0];
  const uint32_t number = attribute == CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME
                              ? current->algorithms[index].reduction
                              : static_cast<uint32_t>(index);
  if (bytes != sizeof number) return refuse("configurations have 32 bits");
  std::memcpy(value, &number, *written = sizeof number);
  return CUBLAS_STATUS_SUCCESS;
}

float fp8(uint8_t code, int fraction, int bias) {
  const int exponent = (code & 0x7f) >> fraction;
  const int part = code & ((1 << fraction) - 1);
  const float size =
      exponent == 0 ? std::ldexp(static_cast<float>(part), 1 - bias - fraction)
                    : std::ldexp(static_cast<float>(part + (1 << fraction)),
                                 exponent - bias - fraction);
  return code & 0x80 ? -size : size;
}

float load(cudaDataType type, const void* from, int64_t index) {
  switch (type) {
    case CUDA_R_8F_E4M3:
      return fp8(static_cast<const uint8_t*>(from)[index], 3, 7);
    case CUDA_R_8F_E5M2:
      return fp8(static_cast<const uint8_t*>(from)[index], 2, 15);
    case CUDA_R_16F:
      return static_cast<const kernels::F16*>(from)[index];
    case CUDA_R_16BF:
      return static_cast<const kernels::Bf16*>(from)[index];
    default:
      return static_cast<const float*>(from)[index];
  }
}

void store(cudaDataType type, float value, void* to, int64_t index) {
  switch (type) {
    case CUDA_R_16F:
      static_cast<kernels::F16*>(to)[index] = kernels::F16(value);
      return;
    case CUDA_R_16BF:
      static_cast<kernels::Bf16*>(to)[index] = kernels::Bf16(value);
      return;
    default:
      static_cast<float*>(to)[index] = value;
  }
}

// Rounds the fraction to ten bits, ties to even.
float tf32(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0xfff + ((bits >> 13) & 1)) & ~uint32_t{0x1fff};
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

// A view of a matrix of a batch in f32: element (row, column) of op(matrix).
struct View {
  View(const cublasLtMatrixLayoutOpaque_t& layout, const void* data,
       int64_t batch, bool transposed, bool rounded)
      : row(transposed ? layout.ld : 1),
        column(transposed ? 1 : layout.ld),
        values(static_cast<size_t>(layout.ld) * (layout.columns - 1) +
               layout.rows) {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = load(layout.type, data,
                       batch * layout.stride + static_cast<int64_t>(i));
      if (rounded) values[i] = tf32(values[i]);
    }
  }
  int64_t row, column;  // Strides.
  std::vector<float> values;
};

// The value at `scale` at the time of the computation; null means 1.
float factor(const void* scale) {
  float value = 1;
  if (scale) std::memcpy(&value, scale, sizeof value);
  return value;
}

// A call, which may be executed later and several times.
struct Product {
  cublasLtMatrixLayoutOpaque_t a_layout, b_layout, d_layout;
  cublasLtMatmulDescOpaque_t desc;
  const void *a, *b, *c;  // `c` is null if it is not added.
  void *d, *workspace;
  size_t workspace_bytes;
  FakeCublasLt::Epilogues epilogues;

  float finish(float product, int64_t row, int64_t at) const;
  void compute() const {
    // The library may write all of the workspace.
    if (workspace_bytes > 0) std::memset(workspace, 0xfb, workspace_bytes);
    const bool ta = desc.a == CUBLAS_OP_T, tb = desc.b == CUBLAS_OP_T;
    const float scale = factor(desc.a_scale) * factor(desc.b_scale);
    const int64_t rows = static_cast<int64_t>(d_layout.rows),
                  columns = static_cast<int64_t>(d_layout.columns),
                  sums = static_cast<int64_t>(ta ? a_layout.rows
                                                 : a_layout.columns);
    for (int64_t i = 0; i < d_layout.batch; ++i) {
      const View left(a_layout, a, i, ta, desc.tf32),
          right(b_layout, b, i, tb, desc.tf32);
      // D is column-major: its columns are rows of the result.
      const bool is_cut = desc.epilogue != CUBLASLT_EPILOGUE_DEFAULT &&
                          epilogues == FakeCublasLt::Epilogues::kUnwritten;
      for (int64_t column = 0; column < (is_cut ? columns / 2 : columns);
           ++column)
        for (int64_t row = 0; row < rows; ++row) {
          const float* from_a = left.values.data() + row * left.row;
          const float* from_b = right.values.data() + column * right.column;
          float sum = 0;
          for (int64_t k = 0; k < sums; ++k)
            sum += from_a[k * left.column] * from_b[k * right.row];
          const int64_t element =
              i * d_layout.stride + column * d_layout.ld + row;
          const float addend = c ? load(d_layout.type, c, element) : 0;
          store(d_layout.type,
                finish(scale * sum + addend, row, column * desc.aux_ld + row),
                d, element);
        }
    }
  }
};

// The epilogue of the element in row `row`; `at` is its place in the argument.
float Product::finish(float product, int64_t row, int64_t at) const {
  const bool is_relu = epilogues == FakeCublasLt::Epilogues::kRelu;
  const auto step = [](float x) { return x > 0 ? 1.0f : 0.0f; };
  if (desc.epilogue == CUBLASLT_EPILOGUE_BIAS) {
    product += load(d_layout.type, desc.bias, row);
    return product * (is_relu ? step(product) : 1);
  }
  if (desc.epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS) {
    product += load(d_layout.type, desc.bias, row);
    store(d_layout.type, product, const_cast<void*>(desc.aux), at);
    return product * (is_relu ? step(product) : kernels::gelu_factor(product));
  }
  if (desc.epilogue == CUBLASLT_EPILOGUE_DGELU) {
    const float x = load(d_layout.type, desc.aux, at);
    product *= is_relu ? step(x) : kernels::gelu_slope(x);
  }
  return product;
}

cublasStatus_t matmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                      const void* alpha, const void* a,
                      cublasLtMatrixLayout_t a_layout, const void* b,
                      cublasLtMatrixLayout_t b_layout, const void* beta,
                      const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                      cublasLtMatrixLayout_t d_layout,
                      const cublasLtMatmulAlgo_t* algo, void* workspace,
                      size_t workspace_bytes, CUstream stream) {
  ++current->products;
  current->last_is_fast = desc->fast != 0;
  current->last_scales[0] = desc->a_scale;
  current->last_scales[1] = desc->b_scale;
  if (fails("cublasLtMatmul")) return CUBLAS_STATUS_EXECUTION_FAILED;
  if (!handle || !algo || !is_ours(*algo, is_scaled(desc)))
    return refuse("no such algorithm");
  const FakeCublasLt::Algorithm& known = current->algorithms[algo->data[0]];
  if (known.broken) return CUBLAS_STATUS_EXECUTION_FAILED;
  const std::string error = check(desc, a_layout, b_layout, c_layout, d_layout);
  if (!error.empty()) return refuse(error);
  const float addend_factor = *static_cast<const float*>(beta);
  if (*static_cast<const float*>(alpha) != 1 ||
      (addend_factor != 1 && (addend_factor != 0 || c != d)))
    return refuse("a result is the product, or addend and product");
  if (workspace_bytes < known.workspace_bytes ||
      (known.workspace_bytes > 0 && !workspace))
    return refuse("the workspace is too small");
  const Product product{*a_layout,
                        *b_layout,
                        *d_layout,
                        *desc,
                        a,
                        b,
                        addend_factor == 1 ? c : nullptr,
                        d,
                        workspace,
                        known.workspace_bytes,
                        current->epilogues};
  if (!current->queue)
    product.compute();
  else if (!current->queue(stream, [product] { product.compute(); }))
    return CUBLAS_STATUS_EXECUTION_FAILED;
  current->last = algo->data[0];
  if (current->driver)
    current->driver->microseconds +=
        known.microseconds +
        (has_epilogue(desc) ? current->epilogue_microseconds : 0);
  return CUBLAS_STATUS_SUCCESS;
}

const CublasLt& fake_table() {
  static const CublasLt table = [] {
    CublasLt fake = {};
    fake.cublasLtGetVersion = get_version;
    fake.cublasLtGetStatusName = get_status_name;
    fake.cublasLtCreate = create;
    fake.cublasLtDestroy = destroy;
    fake.cublasLtMatrixLayoutCreate = layout_create;
    fake.cublasLtMatrixLayoutDestroy = destroy_descriptor;
    fake.cublasLtMatrixLayoutSetAttribute = layout_set;
    fake.cublasLtMatmulDescCreate = desc_create;
    fake.cublasLtMatmulDescDestroy = destroy_descriptor;
    fake.cublasLtMatmulDescSetAttribute = desc_set;
    fake.cublasLtMatmulPreferenceCreate = preference_create;
    fake.cublasLtMatmulPreferenceDestroy = destroy_descriptor;
    fake.cublasLtMatmulPreferenceSetAttribute = preference_set;
    fake.cublasLtMatmulAlgoGetHeuristic = get_heuristic;
    fake.cublasLtMatmulAlgoCheck = algo_check;
    fake.cublasLtMatmulAlgoConfigGetAttribute = algo_get;
    fake.cublasLtMatmul = matmul;
    return fake;
  }();
  return table;
}

}  // namespace

FakeCublasLt::FakeCublasLt(HostDriver* driver) : driver(driver) {
  current = this;
}
FakeCublasLt::~FakeCublasLt() { current = nullptr; }
const CublasLt* FakeCublasLt::table() const { return &fake_table(); }

}  // namespace mpc::test
