// Looks up rows of a table by index, and computes the gradient of the table:
// the gradients for a row are added in the order of their indices.

#include <limits>

#include "kernels/reference/reference.h"

namespace mpc::kernels::reference {
namespace {

int64_t row_at(const EmbeddingShape& s, const void* indices, int64_t i) {
  const int64_t index = s.index_dtype == MPC_DTYPE_I32
                            ? static_cast<const int32_t*>(indices)[i]
                            : static_cast<const int64_t*>(indices)[i];
  return embedding_row(index, s.rows);
}

template <typename T, typename R>
void embedding(const EmbeddingShape& s, void* const* operands) {
  const T* table = static_cast<const T*>(operands[0]);
  T* y = static_cast<T*>(operands[2]);
  const T nan = T(std::numeric_limits<Sum<T>>::quiet_NaN());
  for (int64_t i = 0; i < s.count; ++i) {
    const int64_t row = row_at(s, operands[1], i);
    for (int64_t j = 0; j < s.width; ++j)
      y[i * s.width + j] = row < 0 ? nan : table[row * s.width + j];
  }
}

template <typename T, typename R>
void embedding_grad(const EmbeddingShape& s, void* const* operands) {
  const T* dy = static_cast<const T*>(operands[0]);
  R* table = static_cast<R*>(operands[2]);
  for (int64_t i = 0; i < s.rows * s.width; ++i) table[i] = 0;
  for (int64_t i = 0; i < s.count; ++i) {
    const int64_t row = row_at(s, operands[1], i);
    for (int64_t j = 0; row >= 0 && j < s.width; ++j)
      table[row * s.width + j] += R(dy[i * s.width + j]);
  }
}

struct Embedding {
  using Function = ReferenceKernel<EmbeddingShape>::Function;
  template <typename T, typename R>
  static Function get(KernelId) {
    return embedding<T, R>;
  }
};

struct EmbeddingGrad {
  using Function = ReferenceKernel<EmbeddingShape>::Function;
  template <typename T, typename R>
  static Function get(KernelId) {
    return embedding_grad<T, Sum<T>>;
  }
};

}  // namespace

std::unique_ptr<Kernel> make_embedding(KernelId id,
                                       const EmbeddingShape& shape) {
  return std::make_unique<ReferenceKernel<EmbeddingShape>>(
      shape, id == KernelId::embedding
                 ? select<Embedding>(id, shape.dtype, shape.dtype)
                 : select<EmbeddingGrad>(id, shape.dtype, shape.dtype));
}

}  // namespace mpc::kernels::reference
