// The by-value parameters of the kernels of depthwise.cu, shared by host and
// device code.

#ifndef MPC_KERNELS_CUDA_DEPTHWISE_DEPTHWISE_PARAMS_H_
#define MPC_KERNELS_CUDA_DEPTHWISE_DEPTHWISE_PARAMS_H_

#include <cstdint>

#include "mpc/dtype.h"

namespace mpc::kernels {

constexpr int kLanePairs = 16;   // Threads of a block for its 32 channels.
constexpr int kStripPixels = 8;  // Adjacent pixels of a thread.
constexpr int kRowTaps = 7;      // Taps of a row that a thread sums at a time.
constexpr int kMaxPhases = 8;

// The part of a convolution in one dimension. Tap t of position i reads input
// first + i * move + t * step, with weight tap + t * tap_step, and contributes
// to output i * stride + phase.
struct DepthwiseAxis {
  int32_t positions, first, move, step;
  int32_t taps, tap, tap_step;
  int32_t stride, phase;
};

// Images are [N, H, W, C], weights [C, KH, KW]. All coordinates, including
// pads, are below 2^30. A block has 32 channels of a tile of positions.
struct DepthwiseParams {
  int32_t channels, channel_blocks;
  // Extents of the image that is read, and of the one that is written. For the
  // gradient of the weight: of the input, and of the gradient.
  int32_t from[2], to[2];
  int32_t kernel[2];
  int32_t tile[2], tiles[2];
  // By blockIdx.y in the first dimension, by blockIdx.z in the second. The
  // gradient of an input has one axis for each remainder of a coordinate
  // divided by the stride: the taps that reach it depend on that.
  DepthwiseAxis axes[2][kMaxPhases];
  mpc_dtype_t dtype, bias_dtype, result_dtype;
};

struct DepthwiseWeightParams {
  DepthwiseParams image;
  int64_t count;         // Tiles of all images.
  int32_t chunks;        // Blocks that share them.
  int32_t runs;          // Runs of at most kRowTaps taps in a row.
  int32_t block_groups;  // Runs of a block, by blockIdx.y.
  int32_t sharers;       // Threads of a run and pair of channels.
};

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_DEPTHWISE_DEPTHWISE_PARAMS_H_
