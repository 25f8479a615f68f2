// The parts of make_reference_kernel: one function per family, forward and
// backward together. Each overwrites its result.

#ifndef MPC_KERNELS_REFERENCE_REFERENCE_H_
#define MPC_KERNELS_REFERENCE_REFERENCE_H_

#include <memory>
#include <utility>

#include "kernels/float_types.h"
#include "kernels/kernel.h"
#include "kernels/shapes.h"

namespace mpc::kernels::reference {

// A function over a checked shape.
template <typename Shape>
class ReferenceKernel final : public Kernel {
 public:
  using Function = void (*)(const Shape& shape, void* const* operands);

  ReferenceKernel(Shape shape, Function function)
      : shape_(std::move(shape)), function_(function) {}

  std::string implementation() const override { return "reference"; }
  bool run(void* const* operands, void*) const override {
    function_(shape_, operands);
    return true;
  }

 private:
  Shape shape_;
  Function function_;
};

// The type in which sums of T are computed.
template <typename T>
struct SumOf {
  using type = float;
};
template <>
struct SumOf<double> {
  using type = double;
};
template <typename T>
using Sum = typename SumOf<T>::type;

// The function of `Family` for operands of `dtype` and a result of that dtype
// or of the dtype of sums. Family has `template <T, R> static Function
// get(id)`.
template <typename Family>
typename Family::Function select(KernelId id, mpc_dtype_t dtype,
                                 mpc_dtype_t result) {
  const bool same = dtype == result;
  switch (dtype) {
    case MPC_DTYPE_F32:
      return Family::template get<float, float>(id);
    case MPC_DTYPE_F64:
      return Family::template get<double, double>(id);
    case MPC_DTYPE_F16:
      return same ? Family::template get<F16, F16>(id)
                  : Family::template get<F16, float>(id);
    case MPC_DTYPE_BF16:
      return same ? Family::template get<Bf16, Bf16>(id)
                  : Family::template get<Bf16, float>(id);
    default:
      return nullptr;
  }
}

std::unique_ptr<Kernel> make_matmul(const MatmulShape& shape);
std::unique_ptr<Kernel> make_conv(KernelId id, const ConvShape& shape);
std::unique_ptr<Kernel> make_pool(KernelId id, const PoolShape& shape);
std::unique_ptr<Kernel> make_attention(KernelId id,
                                       const AttentionShape& shape);
std::unique_ptr<Kernel> make_recurrent(KernelId id,
                                       const RecurrentShape& shape);
std::unique_ptr<Kernel> make_embedding(KernelId id,
                                       const EmbeddingShape& shape);
std::unique_ptr<Kernel> make_observe(KernelId id, const ObserveShape& shape);
std::unique_ptr<Kernel> make_bytes(KernelId id, size_t bytes);

}  // namespace mpc::kernels::reference

#endif  // MPC_KERNELS_REFERENCE_REFERENCE_H_
