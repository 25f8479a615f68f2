// result[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n], and epilogues.

#include "kernels/gelu.h"
#include "kernels/reference/reference.h"

namespace mpc::kernels::reference {
namespace {

// What is done with element (m, n) of a matrix of products; results are rounded
// once.
template <typename R, typename S>
void finish(const MatmulShape& s, int64_t m, int64_t n, S product,
            const R* operand, R* result, R* argument) {
  const int64_t i = m * s.n + n;
  switch (s.epilogue) {
    case Epilogue::kNone:
      break;
    case Epilogue::kAdd:
      product += S(operand[i]);
      break;
    case Epilogue::kBias:
      product += S(operand[n]);
      break;
    case Epilogue::kGelu:
      product += S(operand[n]);
      argument[i] = R(product);
      product *= gelu_factor(product);
      break;
    case Epilogue::kGeluGrad:
      product *= gelu_slope(S(operand[i]));
      break;
  }
  result[i] = R(product);
}

template <typename T, typename R>
void multiply(const MatmulShape& s, const T* lhs, const T* rhs,
              const R* operand, R* result, R* argument) {
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
      finish(s, m, n, sum, operand, result, argument);
    }
}

// Walks the batch from dimension `dim` on; the pointers move along.
template <typename T, typename R>
void walk(const MatmulShape& s, size_t dim, const T*& lhs, const T*& rhs,
          const R*& operand, R*& result, R* argument) {
  if (dim == s.batch.size()) {
    multiply(s, lhs, rhs, operand, result, argument);
    lhs += s.m * s.k;
    rhs += s.k * s.n;
    if (operand) operand += s.m * s.n;
    result += s.m * s.n;
    return;
  }
  const T *lhs_start = lhs, *rhs_start = rhs;
  for (int64_t i = 0; i < s.batch[dim].extent; ++i) {
    if (!s.batch[dim].in_lhs) lhs = lhs_start;
    if (!s.batch[dim].in_rhs) rhs = rhs_start;
    walk(s, dim + 1, lhs, rhs, operand, result, argument);
  }
}

template <typename T, typename R>
void matmul(const MatmulShape& shape, void* const* operands) {
  const T* lhs = static_cast<const T*>(operands[0]);
  const T* rhs = static_cast<const T*>(operands[1]);
  const bool has_operand = shape.epilogue != Epilogue::kNone;
  const R* operand = has_operand ? static_cast<const R*>(operands[2]) : nullptr;
  R* result = static_cast<R*>(operands[shape.result_operand()]);
  R* argument = shape.epilogue == Epilogue::kGelu ? static_cast<R*>(operands[4])
                                                  : nullptr;
  walk(shape, 0, lhs, rhs, operand, result, argument);
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
