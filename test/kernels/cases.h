// Difficult cases for every device.

#ifndef MPC_TEST_KERNELS_CASES_H_
#define MPC_TEST_KERNELS_CASES_H_

#include <limits>
#include <vector>

#include "test/kernels/harness.h"

namespace mpc::kernels::testing {

struct Types {
  mpc_dtype_t dtype, result;
};

// The types of products and convolutions on CUDA devices.
inline const std::vector<Types> kCudaTypes = {{MPC_DTYPE_F32, MPC_DTYPE_F32},
                                              {MPC_DTYPE_F16, MPC_DTYPE_F16},
                                              {MPC_DTYPE_F16, MPC_DTYPE_F32},
                                              {MPC_DTYPE_BF16, MPC_DTYPE_BF16},
                                              {MPC_DTYPE_BF16, MPC_DTYPE_F32}};

struct MatmulCase {
  Shape lhs, rhs, result;
};

// Sizes are those of the operands without transposes.
inline KernelDesc matmul_desc(MatmulCase c, bool transpose_lhs,
                              bool transpose_rhs, Types types) {
  const auto flip = [](Shape* s) { std::swap((*s)[s->size() - 2], s->back()); };
  if (transpose_lhs) flip(&c.lhs);
  if (transpose_rhs) flip(&c.rhs);
  return {
      KernelId::matmul,
      {{types.dtype, c.lhs}, {types.dtype, c.rhs}, {types.result, c.result}},
      {transpose_lhs, transpose_rhs}};
}

// Whether the result has the type of sums, so that it can be added to.
inline bool has_sums(Types types) {
  return types.result == types.dtype
             ? types.dtype == MPC_DTYPE_F32 || types.dtype == MPC_DTYPE_F64
             : types.result == MPC_DTYPE_F32;
}

// The same product, added to an addend.
inline KernelDesc added(KernelDesc product) {
  product.id = KernelId::matmul_add;
  product.operands.push_back(product.operands.back());
  return product;
}

inline const std::vector<MatmulCase> kMatmuls = {
    {{1, 1}, {1, 1}, {1, 1}},
    {{1, 7}, {7, 1}, {1, 1}},
    {{5, 1}, {1, 3}, {5, 3}},
    {{17, 31}, {31, 13}, {17, 13}},
    {{64, 64}, {64, 10}, {64, 10}},
    {{1, 129}, {129, 67}, {1, 67}},
    {{67, 129}, {129, 1}, {67, 1}},
    {{3, 5, 7}, {7, 11}, {3, 5, 11}},
    {{2, 3, 5, 7}, {7, 11}, {2, 3, 5, 11}},
    {{5, 7}, {3, 7, 11}, {3, 5, 11}},
    {{2, 1, 5, 7}, {3, 7, 11}, {2, 3, 5, 11}},
    {{2, 3, 5, 7}, {2, 3, 7, 11}, {2, 3, 5, 11}},
    {{2, 3, 5, 7}, {2, 1, 7, 11}, {2, 3, 5, 11}},
    {{2, 1, 2, 5, 7}, {3, 1, 7, 11}, {2, 3, 2, 5, 11}},
    {{12, 16, 8}, {12, 8, 24}, {12, 16, 24}},
};

// Large enough that deterministic mode splits them, with a remainder.
inline const std::vector<MatmulCase> kLargeMatmuls = {
    {{331, 160}, {160, 130}, {331, 130}},
    {{96, 128}, {128, 777}, {96, 777}},
    {{19, 64, 96}, {19, 96, 96}, {19, 64, 96}},
    {{19, 64, 96}, {1, 96, 96}, {19, 64, 96}},
    {{1, 64, 96}, {19, 96, 96}, {19, 64, 96}},
    {{150, 530}, {530, 70}, {150, 70}},
    {{301, 9, 10}, {301, 10, 11}, {301, 9, 11}},
    {{1, 9, 70}, {301, 70, 11}, {301, 9, 11}},
    // Few rows; sums, rows and columns in several blocks; strides of 4 KB.
    {{5, 1100}, {1100, 90}, {5, 90}},
    {{1030, 64}, {64, 70}, {1030, 70}},
    {{70, 1040}, {1040, 600}, {70, 600}},
    {{40, 100}, {100, 1024}, {40, 1024}},
};

// batch, inputs, outputs, image, kernel, strides, dilations, pads, group
inline const std::vector<ConvCase> kConvs = {
    {1, 1, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {3, 1, 16, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {5, 16, 32, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {2, 13, 17, {9, 7}, {3, 2}, {2, 1}, {1, 1}, {1, 0}, {0, 1}},
    {2, 3, 5, {11, 11}, {3, 3}, {1, 2}, {2, 3}, {2, 3}, {1, 2}},
    {2, 6, 9, {7, 5}, {2, 3}, {1, 1}, {1, 1}, {0, 1}, {1, 1}, 3},
    {2, 32, 32, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 32},
    {1, 4, 8, {6, 6}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {0, 0}, 4},
    {1, 96, 40, {3, 2}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {2, 33, 17, {5}, {1}, {1}, {1}, {0}, {0}},
    {3, 64, 24, {5, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {2, 40, 48, {6, 6}, {1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
    {1, 2, 3, {2, 2}, {3, 3}, {1, 1}, {1, 1}, {3, 4}, {4, 3}},
    {3, 5, 7, {13}, {3}, {2}, {1}, {1}, {1}},
    {2, 4, 6, {17}, {5}, {1}, {2}, {4}, {3}, 2},
    {3, 20, 20, {9, 11}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, 20},
    {2, 37, 37, {8, 9}, {7, 9}, {2, 1}, {1, 2}, {3, 4}, {3, 6}, 37},
    {1, 5, 5, {3, 4}, {2, 5}, {1, 1}, {1, 1}, {1, 4}, {0, 4}, 5},
    {2, 48, 48, {17}, {4}, {1}, {1}, {3}, {0}, 48},
};

inline const std::vector<ConvCase> kLargeConvs = {
    {37, 16, 32, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {19, 24, 24, {14, 14}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
    {19, 70, 40, {9, 9}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {1, 24, 20, {28, 28}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    // A single image is larger than the intended size of a strip.
    {5, 4, 4, {180, 181}, {3, 1}, {1, 1}, {1, 1}, {1, 0}, {1, 0}},
};

// Depthwise: `channels` in groups of one.
inline ConvCase depthwise_case(int64_t batch, int64_t channels, Shape image,
                               Shape kernel, Shape strides, Shape dilations,
                               Shape pads_begin, Shape pads_end) {
  return {batch,   channels,  channels,   image,    kernel,
          strides, dilations, pads_begin, pads_end, channels};
}
// batch, channels, image, kernel, strides, dilations, pads
inline const std::vector<ConvCase> kDepthwiseConvs = {
    // As in ConvNeXt: the whole image is near a border.
    depthwise_case(2, 96, {4, 4}, {7, 7}, {1, 1}, {1, 1}, {3, 3}, {3, 3}),
    depthwise_case(1, 33, {19, 37}, {7, 7}, {1, 1}, {1, 1}, {3, 3}, {3, 3}),
    depthwise_case(2, 32, {9, 16}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}),
    // As in MobileNet, and with strides that leave inputs without windows.
    depthwise_case(2, 34, {11, 18}, {3, 3}, {2, 2}, {1, 1}, {0, 0}, {1, 1}),
    depthwise_case(1, 3, {14, 13}, {5, 5}, {2, 2}, {1, 1}, {1, 2}, {2, 1}),
    depthwise_case(2, 3, {7, 8}, {1, 1}, {3, 2}, {1, 1}, {0, 0}, {0, 0}),
    depthwise_case(1, 6, {13, 20}, {3, 2}, {3, 4}, {1, 1}, {1, 0}, {0, 1}),
    // Dilations, alone and with strides that have a divisor in common.
    depthwise_case(1, 5, {12, 11}, {3, 3}, {1, 1}, {2, 2}, {2, 2}, {2, 2}),
    depthwise_case(1, 2, {17, 16}, {4, 3}, {2, 4}, {2, 2}, {3, 1}, {2, 4}),
    depthwise_case(1, 2, {15, 9}, {3, 3}, {3, 2}, {2, 3}, {4, 0}, {1, 5}),
    // Pads only on one side, windows larger than the image.
    depthwise_case(2, 4, {5, 10}, {5, 3}, {1, 1}, {1, 1}, {0, 2}, {4, 0}),
    depthwise_case(1, 1, {2, 3}, {7, 5}, {1, 1}, {1, 1}, {6, 4}, {5, 4}),
    // More taps than a thread sums at a time, and in a column.
    depthwise_case(1, 7, {12, 21}, {3, 15}, {1, 1}, {1, 1}, {1, 7}, {1, 7}),
    depthwise_case(1, 2, {20, 9}, {17, 2}, {1, 1}, {1, 1}, {8, 0}, {8, 1}),
    depthwise_case(1, 64, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}),
    depthwise_case(3, 40, {31}, {5}, {1}, {1}, {4}, {0}),
    // So many channels that blocks sum the gradients of several tiles.
    depthwise_case(7, 3300, {3, 3}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}),
};

inline const KernelId kConvKernels[] = {KernelId::conv, KernelId::conv_bias,
                                        KernelId::conv_grad_input,
                                        KernelId::conv_grad_weight};

inline bool allowed(KernelId id, Types types) {
  return id != KernelId::conv_grad_weight ||
         (types.result != MPC_DTYPE_BF16 && types.result != MPC_DTYPE_F16);
}

// batch, channels, -, image, kernel, strides, dilations, pads
inline const std::vector<ConvCase> kPools = {
    {1, 1, 0, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {3, 16, 0, {8, 8}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
    {2, 17, 0, {9, 7}, {3, 2}, {2, 1}, {1, 1}, {1, 0}, {2, 1}},
    {2, 37, 0, {7, 7}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
    {1, 5, 0, {11, 10}, {3, 3}, {1, 3}, {2, 3}, {3, 2}, {1, 4}},
    {2, 3, 0, {6, 5}, {2, 2}, {3, 3}, {1, 1}, {0, 0}, {1, 0}},
    {1, 2, 0, {15, 17}, {15, 17}, {1, 1}, {1, 1}, {14, 16}, {14, 16}},
    {4, 8, 0, {19}, {4}, {3}, {1}, {2}, {3}},
    {4, 3, 0, {19}, {4}, {2}, {2}, {6}, {0}},
    {2, 48, 0, {12, 12}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
};

inline const std::vector<EmbeddingCase> kEmbeddings = {
    {{1, 1}, {1}},       {{5}, {7}},          {{7, 3}, {}},
    {{5, 3}, {40}},      {{7, 8}, {3, 11}},   {{19, 2, 20}, {4, 9}},
    {{300, 4}, {2500}},  {{70000, 1}, {300}}, {{3, 264}, {70}},
    {{11, 300}, {2, 2}}, {{2, 16}, {1100}},   {{257, 33}, {65}},
};

// Every index in range and those just outside, as far as the dtype can hold
// them.
inline std::vector<double> indices_beyond(const KernelDesc& desc) {
  const size_t table = desc.id == KernelId::embedding ? 0 : 2;
  const double rows = static_cast<double>(desc.operands[table].shape[0]);
  const double far = desc.operands[1].dtype == MPC_DTYPE_I64 ? 0x1p62 : 0x1p30;
  const double edges[] = {rows, -rows - 1, 0, -rows, far, -far, rows - 1, -1};
  std::vector<double> indices(element_count(desc.operands[1]));
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = edges[i % 8];
  return indices;
}

// Indices for max_pool_grad; other inputs are arbitrary.
inline std::vector<std::vector<double>> grad_inputs(const KernelDesc& desc) {
  std::vector<std::vector<double>> inputs;
  for (size_t i = 0; i < input_count(desc); ++i)
    inputs.push_back(
        uniform(static_cast<int>(i) + 1, element_count(desc.operands[i])));
  if (desc.id == KernelId::max_pool_grad) {
    // Arbitrary positions, including some outside the window.
    const int64_t window = desc.attributes[1] * desc.attributes[2] + 1;
    for (size_t i = 0; i < inputs[1].size(); ++i)
      inputs[1][i] = static_cast<double>(i * 7919 % window);
  }
  return inputs;
}

// Multiples of 1/8, so that sums are exact in any order. For `special` from 0
// on, one value of every other input is not finite.
inline std::vector<std::vector<double>> exact_inputs(const KernelDesc& desc,
                                                     int special = -1) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double values[] = {infinity, -infinity,
                           std::numeric_limits<double>::quiet_NaN()};
  std::vector<std::vector<double>> inputs;
  for (size_t i = 0; i < input_count(desc); ++i) {
    inputs.push_back(
        eighths(static_cast<int>(i), element_count(desc.operands[i])));
    if (special >= 0 && static_cast<size_t>(special) % 2 == i % 2)
      inputs[i][static_cast<size_t>(special) * 7919 % inputs[i].size()] =
          values[special % 3];
  }
  return inputs;
}

// Values with many duplicates, infinities and NaN.
inline std::vector<double> difficult(size_t count) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double values[] = {1, 1, 2,         -infinity, 0, -0.0, 2,
                           1, 0, -infinity, 3,         3, nan};
  std::vector<double> result(count);
  uint32_t state = 1;
  for (double& value : result) {
    state = state * 1664525 + 1013904223;
    value = values[(state >> 16) % 13];
  }
  return result;
}

}  // namespace mpc::kernels::testing

#endif  // MPC_TEST_KERNELS_CASES_H_
