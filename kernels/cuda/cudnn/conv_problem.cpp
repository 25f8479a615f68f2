#include "kernels/cuda/cudnn/conv_problem.h"

namespace mpc::kernels {
namespace {

std::string text(const Tensor4& tensor) {
  std::string text = mpc_dtype_name(tensor.dtype);
  for (int64_t dim : tensor.dims) text += "x" + std::to_string(dim);
  for (int64_t stride : tensor.strides) text += "/" + std::to_string(stride);
  return text;
}

// Most engines require equal padding on both sides. This pads both sides alike
// if the number of windows stays the same: then no window contains the extra
// zeros.
void make_pads_alike(const ConvShape& shape, Window* window) {
  for (int d = 0; d < 2; ++d) {
    const int64_t room = shape.input[d] + 2 * window->pads_begin[d] -
                         window->dilations[d] * (window->kernel[d] - 1) - 1;
    if (room >= 0 && room / window->strides[d] + 1 == shape.output[d])
      window->pads_end[d] = window->pads_begin[d];
  }
}

}  // namespace

Dims4 dense_strides(const Dims4& dims, bool channels_last) {
  const int64_t n = dims[1] * dims[2] * dims[3];
  if (channels_last) return {n, 1, dims[3] * dims[1], dims[1]};
  return {n, dims[2] * dims[3], dims[3], 1};
}

ConvProblem conv_problem(KernelId id, const ConvShape& s) {
  ConvProblem problem;
  problem.kind = id == KernelId::conv_grad_input    ? ConvKind::grad_input
                 : id == KernelId::conv_grad_weight ? ConvKind::grad_weight
                                                    : ConvKind::forward;
  const auto tensor = [&](const Dims4& dims, bool channels_last) {
    return Tensor4{s.dtype, dims, dense_strides(dims, channels_last)};
  };
  problem.x = tensor({s.batch, s.input_channels, s.input[0], s.input[1]},
                     s.channels_last);
  problem.w = tensor({s.output_channels, s.input_channels / s.group,
                      s.window.kernel[0], s.window.kernel[1]},
                     false);
  problem.y = tensor({s.batch, s.output_channels, s.output[0], s.output[1]},
                     s.channels_last);
  (problem.kind == ConvKind::forward      ? problem.y
   : problem.kind == ConvKind::grad_input ? problem.x
                                          : problem.w)
      .dtype = s.result_dtype;
  problem.has_bias = s.has_bias;
  problem.bias = {s.bias_dtype,
                  {1, s.output_channels, 1, 1},
                  {s.output_channels, 1, s.output_channels, s.output_channels}};
  problem.window = s.window;
  problem.tf32 = s.tf32;
  make_pads_alike(s, &problem.window);
  return problem;
}

ConvProblem widened(ConvProblem problem) {
  for (Tensor4* tensor : {&problem.x, &problem.w, &problem.y, &problem.bias})
    tensor->dtype = MPC_DTYPE_F32;
  problem.widened = true;
  return problem;
}

ConvProblem with_weights_last(ConvProblem problem) {
  problem.w.strides = dense_strides(problem.w.dims, true);
  return problem;
}

const Tensor4& ConvProblem::result() const {
  return kind == ConvKind::forward ? y : kind == ConvKind::grad_input ? x : w;
}

bool ConvProblem::is_mixed() const { return result().dtype != operand().dtype; }

std::string ConvProblem::key() const {
  std::string result = "conv " + std::to_string(static_cast<int>(kind)) + " " +
                       text(x) + " " + text(w) + " " + text(y);
  if (widened) result += " widened";
  if (tf32) result += " tf32";
  if (has_bias) result += " " + text(bias);
  for (const auto* values : {&window.strides, &window.dilations,
                             &window.pads_begin, &window.pads_end})
    result +=
        " " + std::to_string((*values)[0]) + "," + std::to_string((*values)[1]);
  return result;
}

}  // namespace mpc::kernels
