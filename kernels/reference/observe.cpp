// Statistics of a tensor, and the effect of rounding it.

#include <algorithm>

#include "kernels/observation.h"
#include "kernels/reference/reference.h"

namespace mpc::kernels::reference {
namespace {

template <typename T>
void observe(const ObserveShape& shape, void* const* operands) {
  Observation<Sum<T>> found;
  const T* values = static_cast<const T*>(operands[0]);
  for (int64_t i = 0; i < shape.count; ++i)
    found.add(static_cast<Sum<T>>(values[i]), i);
  found.write(static_cast<double*>(operands[1]));
}

template <typename T, typename G>
void rounding(const ObserveShape& shape, void* const* operands) {
  RoundingSums sums;
  for (int64_t i = 0; i < shape.count; i += kRoundingPiece)
    sums.add(round_piece(static_cast<const T*>(operands[0]),
                         static_cast<const G*>(operands[1]), i,
                         std::min(i + kRoundingPiece, shape.count)));
  sums.write(static_cast<double*>(operands[2]));
}

using Function = ReferenceKernel<ObserveShape>::Function;

template <typename T>
Function rounding_of(mpc_dtype_t gradient) {
  switch (gradient) {
    case MPC_DTYPE_F64:
      return rounding<T, double>;
    case MPC_DTYPE_F16:
      return rounding<T, F16>;
    case MPC_DTYPE_BF16:
      return rounding<T, Bf16>;
    default:
      return rounding<T, float>;
  }
}

template <typename T>
Function function_of(KernelId id, const ObserveShape& shape) {
  return id == KernelId::observe ? observe<T>
                                 : rounding_of<T>(shape.gradient_dtype);
}

}  // namespace

std::unique_ptr<Kernel> make_observe(KernelId id, const ObserveShape& shape) {
  Function function = function_of<float>(id, shape);
  if (shape.dtype == MPC_DTYPE_F64) function = function_of<double>(id, shape);
  if (shape.dtype == MPC_DTYPE_F16) function = function_of<F16>(id, shape);
  if (shape.dtype == MPC_DTYPE_BF16) function = function_of<Bf16>(id, shape);
  return std::make_unique<ReferenceKernel<ObserveShape>>(shape, function);
}

}  // namespace mpc::kernels::reference
