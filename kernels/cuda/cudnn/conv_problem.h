// A convolution in terms of cuDNN: 4-dimensional images and weights with
// strides, two spatial dimensions.

#ifndef MPC_KERNELS_CUDA_CUDNN_CONV_PROBLEM_H_
#define MPC_KERNELS_CUDA_CUDNN_CONV_PROBLEM_H_

#include <array>
#include <cstdint>
#include <string>

#include "kernels/shapes.h"

namespace mpc::kernels {

using Dims4 = std::array<int64_t, 4>;

// Images are N, C, H, W; weights O, C/group, KH, KW. Strides in elements.
struct Tensor4 {
  mpc_dtype_t dtype;
  Dims4 dims, strides;

  int64_t elements() const { return dims[0] * dims[1] * dims[2] * dims[3]; }
};

// Dense strides, with the channels last or in the order of the dimensions.
Dims4 dense_strides(const Dims4& dims, bool channels_last);

enum class ConvKind { forward, grad_input, grad_weight };

// The output is y, x or w; a forward convolution may add a bias of dimensions
// 1, C, 1, 1.
struct ConvProblem {
  ConvKind kind;
  Tensor4 x, w, y;
  bool has_bias = false;
  Tensor4 bias;
  // Operands are f32 widened from 16 bits; TF32 keeps all of their bits.
  bool widened = false;
  // Operands are f32 that may be rounded to TF32.
  bool tf32 = false;
  Window window;  // Its kernel is that of w.

  // The tensor that is computed, and an image that it is computed from.
  const Tensor4& result() const;
  const Tensor4& operand() const { return kind == ConvKind::forward ? x : y; }
  // Whether operands are 16-bit and the result is not.
  bool is_mixed() const;

  // Everything that distinguishes problems, as text.
  std::string key() const;
};

// The problem of a catalog kernel, with operands in their layout in memory.
ConvProblem conv_problem(KernelId id, const ConvShape& shape);
// The same with everything in f32.
ConvProblem widened(ConvProblem problem);
// The same with weights O, KH, KW, C/group in memory.
ConvProblem with_weights_last(ConvProblem problem);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_CUDNN_CONV_PROBLEM_H_
