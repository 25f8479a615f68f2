// result[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n], plus the addend
// if there is one.

#include "kernels/reference/reference.h"

namespace mpc::kernels::reference {
namespace {

template <typename T, typename R>
void multiply(const MatmulShape& s, const T* lhs, const T* rhs, const R* addend,
              R* result) {
  const int64_t lhs_m = s.transpose_lhs ? 1 : s.k;
  const int64_t lhs_k = s.transpose_lhs ? s.m : 1;
  const int64_t rhs_k = s.transpose_rhs ? 1 : s.n;
  const int64_t rhs_n = s.transpose_rhs ? s.k : 1;
  for (int64_t m = 0; m < s.m; ++m)
    for (int64_t n = 0; n < s.n; ++n) {
      Sum<T> sum = 0;
      for (int64_t k = 0; k < s.k; ++k)
        sum += Sum<T>(lhs[m * lhs_m + k * lhs_k]) *
               Sum<T>(rhs[k * rhs_k + n * rhs_n]);
      if (addend) sum += Sum<T>(addend[m * s.n + n]);
      result[m * s.n + n] = R(sum);
    }
}

// Walks the batch from dimension `dim` on; the pointers move along.
template <typename T, typename R>
void walk(const MatmulShape& s, size_t dim, const T*& lhs, const T*& rhs,
          const R*& addend, R*& result) {
  if (dim == s.batch.size()) {
    multiply(s, lhs, rhs, addend, result);
    lhs += s.m * s.k;
    rhs += s.k * s.n;
    if (addend) addend += s.m * s.n;
    result += s.m * s.n;
    return;
  }
  const T *lhs_start = lhs, *rhs_start = rhs;
  for (int64_t i = 0; i < s.batch[dim].extent; ++i) {
    if (!s.batch[dim].in_lhs) lhs = lhs_start;
    if (!s.batch[dim].in_rhs) rhs = rhs_start;
    walk(s, dim + 1, lhs, rhs, addend, result);
  }
}

template <typename T, typename R>
void matmul(const MatmulShape& shape, void* const* operands) {
  const T* lhs = static_cast<const T*>(operands[0]);
  const T* rhs = static_cast<const T*>(operands[1]);
  const R* addend = shape.adds ? static_cast<const R*>(operands[2]) : nullptr;
  R* result = static_cast<R*>(operands[shape.adds ? 3 : 2]);
  walk(shape, 0, lhs, rhs, addend, result);
}

struct Matmul {
  using Function = ReferenceKernel<MatmulShape>::Function;
  template <typename T, typename R>
  static Function get(KernelId) {
    return matmul<T, R>;
  }
};

}  // namespace

std::unique_ptr<Kernel> make_matmul(const MatmulShape& shape) {
  return std::make_unique<ReferenceKernel<MatmulShape>>(
      shape, select<Matmul>(KernelId::matmul, shape.dtype, shape.result_dtype));
}

}  // namespace mpc::kernels::reference
