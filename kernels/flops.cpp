#include "kernels/flops.h"

#include <string>

#include "kernels/shapes.h"

namespace mpc::kernels {
namespace {

double count_matmul(const MatmulShape& shape) {
  double flops = 2.0 * static_cast<double>(shape.m) *
                 static_cast<double>(shape.n) * static_cast<double>(shape.k);
  for (const BatchDim& dim : shape.batch)
    flops *= static_cast<double>(dim.extent);
  return flops;
}

double area(const std::array<int64_t, 2>& extents) {
  return static_cast<double>(extents[0]) * static_cast<double>(extents[1]);
}

// One multiply-add for each element of the result, input channel of its group
// and kernel position. The gradients have as many.
double count_conv(const ConvShape& shape) {
  return 2.0 * static_cast<double>(shape.batch) *
         static_cast<double>(shape.output_channels) * area(shape.output) *
         static_cast<double>(shape.input_channels / shape.group) *
         area(shape.window.kernel);
}

// One operation for each element of each window; the gradient of a maximum
// passes on one element.
double count_pool(const PoolShape& shape, bool selects) {
  return static_cast<double>(shape.batch) *
         static_cast<double>(shape.channels) * area(shape.output) *
         (selects ? 1.0 : area(shape.window.kernel));
}

// Operations of the soft cap of a score, and of its derivative.
constexpr double kSoftcapFlops = 12, kSoftcapSlopeFlops = 3;

// The products with queries, keys and values, the soft cap and the softmax.
double count_attention(const AttentionShape& shape, bool is_gradient) {
  double pairs = 0;
  for (int64_t query = 0; query < shape.queries; ++query)
    pairs += static_cast<double>(shape.visible(query));
  pairs *= static_cast<double>(shape.batch) * static_cast<double>(shape.heads);
  const auto depth = static_cast<double>(shape.depth);
  const auto width = static_cast<double>(shape.value_depth);
  double flops =
      is_gradient ? 6 * depth + 4 * width + 16 : 2 * (depth + width) + 14;
  if (shape.softcap > 0)
    flops += kSoftcapFlops + (is_gradient ? kSoftcapSlopeFlops : 0);
  return pairs * flops;
}

// The products with the weights, and some operations for each gate and unit.
double count_recurrent(const RecurrentShape& shape) {
  const auto units = static_cast<double>(shape.steps * shape.batch) *
                     static_cast<double>(shape.hidden);
  const auto gates = static_cast<double>(shape.gates());
  return units * (gates * (2 * static_cast<double>(shape.hidden) + 8) + 20);
}

// 0 if `parse` rejects the description.
template <typename Shape, typename Count>
double parse_and_count(const KernelDesc& desc,
                       bool (*parse)(const KernelDesc&, Shape*, std::string*),
                       const Count& count) {
  Shape shape;
  std::string error;
  return parse(desc, &shape, &error) ? count(shape) : 0;
}

double count(const KernelDesc& desc) {
  switch (desc.id) {
    case KernelId::matmul:
    case KernelId::matmul_add:
    case KernelId::matmul_bias:
    case KernelId::matmul_gelu:
    case KernelId::matmul_gelu_grad:
    case KernelId::scaled_matmul:
      return parse_and_count(desc, parse_matmul, count_matmul);
    case KernelId::conv:
    case KernelId::conv_bias:
    case KernelId::conv_grad_input:
    case KernelId::conv_grad_weight:
      return parse_and_count(desc, parse_conv, count_conv);
    case KernelId::max_pool:
    case KernelId::max_pool_grad:
    case KernelId::average_pool:
    case KernelId::average_pool_grad:
      return parse_and_count(desc, parse_pool, [&](const PoolShape& shape) {
        return count_pool(shape, desc.id == KernelId::max_pool_grad);
      });
    MPC_CASES_OF_ATTENTION:
      return parse_and_count(desc, parse_attention,
                             [&](const AttentionShape& shape) {
                               return count_attention(shape, !shape.forward);
                             });
    case KernelId::lstm:
    case KernelId::lstm_grad:
    case KernelId::gru:
    case KernelId::gru_grad:
      return parse_and_count(desc, parse_recurrent, count_recurrent);
    case KernelId::copy:
    case KernelId::zero:
    case KernelId::embedding:
    case KernelId::embedding_grad:
    case KernelId::observe:
    case KernelId::rounding:
    case KernelId::mean_over_ranks:
      return 0;
  }
  return 0;
}

template <typename Shape>
bool parse_tf32(const KernelDesc& desc,
                bool (*parse)(const KernelDesc&, Shape*, std::string*)) {
  Shape shape;
  std::string error;
  return parse(desc, &shape, &error) && shape.tf32;
}

}  // namespace

bool may_use_tf32(const KernelDesc& desc) {
  std::string error;
  if (!check_description(desc, &error)) return false;
  switch (desc.id) {
    case KernelId::matmul:
    case KernelId::matmul_add:
    case KernelId::matmul_bias:
    case KernelId::matmul_gelu:
    case KernelId::matmul_gelu_grad:
      return parse_tf32(desc, parse_matmul);
    case KernelId::conv:
    case KernelId::conv_bias:
    case KernelId::conv_grad_input:
    case KernelId::conv_grad_weight:
      return parse_tf32(desc, parse_conv);
    MPC_CASES_OF_ATTENTION:
      return parse_tf32(desc, parse_attention);
    default:
      return false;
  }
}

uint64_t count_flops(const KernelDesc& desc) {
  std::string error;
  return check_description(desc, &error) ? static_cast<uint64_t>(count(desc))
                                         : 0;
}

}  // namespace mpc::kernels
