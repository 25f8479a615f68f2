// Depthwise convolutions and their gradients, for images with channels last. A
// block copies a tile of 32 channels to shared memory as f32; a thread computes
// 8 adjacent pixels of 2 channels. Sums are in f32, in an order that depends
// only on the shape.
//
// Pixels outside the image are zeros in the tile, which is exact unless they
// meet an infinity or a NaN. Blocks that find one check the coordinates of each
// product instead, as do blocks with strides or dilations.

#include "kernels/cuda/depthwise/depthwise_params.h"
#include "kernels/cuda/kernels/device.h"
#include "kernels/float_types.h"

namespace {

using mpc::kernels::Bf16;
using mpc::kernels::bits_float;
using mpc::kernels::DepthwiseAxis;
using mpc::kernels::DepthwiseParams;
using mpc::kernels::DepthwiseWeightParams;
using mpc::kernels::F16;
using mpc::kernels::float_bits;
using mpc::kernels::kLanePairs;
using mpc::kernels::kRowTaps;
using mpc::kernels::kStripPixels;

// The values that the taps and pixels of a thread need.
constexpr int kRun = kStripPixels + kRowTaps - 1;

__device__ __forceinline__ float2 multiply_add(float2 a, float2 b, float2 sum) {
  return make_float2(fmaf(a.x, b.x, sum.x), fmaf(a.y, b.y, sum.y));
}

// Zero as long as all values are finite, then NaN.
__device__ __forceinline__ float probe_of(float2 value, float probe) {
  return fmaf(value.x, 0.0f, fmaf(value.y, 0.0f, probe));
}

//----------------------------------------------------------------------------
// Positions
//----------------------------------------------------------------------------

// The two channels of a thread, and its number among those with the same ones.
struct Lane {
  int32_t pair, slot, slots;
  int32_t channel, count;  // `count` of the two exist.
  bool even;               // Whether the image has an even number of them.
};

__device__ __forceinline__ Lane lane_of(const DepthwiseParams& p,
                                        int32_t channel_block) {
  const int32_t thread = static_cast<int32_t>(threadIdx.x);
  Lane lane;
  lane.pair = thread % kLanePairs;
  lane.slot = thread / kLanePairs;
  lane.slots = static_cast<int32_t>(blockDim.x) / kLanePairs;
  lane.channel = 2 * (channel_block * kLanePairs + lane.pair);
  lane.count = max(0, min(2, p.channels - lane.channel));
  lane.even = p.channels % 2 == 0;
  return lane;
}

// A tile of positions, by its first one.
struct Tile {
  int64_t image;
  int32_t row, column;
};

__device__ __forceinline__ Tile tile_of(const DepthwiseParams& p,
                                        uint32_t index) {
  const uint32_t columns = static_cast<uint32_t>(p.tiles[1]),
                 rows = static_cast<uint32_t>(p.tiles[0]);
  const uint32_t line = index / columns, image = line / rows;
  return {image, static_cast<int32_t>(line - image * rows) * p.tile[0],
          static_cast<int32_t>(index - line * columns) * p.tile[1]};
}

// The first input of a tile.
__device__ __forceinline__ Tile input_of(const Tile& tile,
                                         const DepthwiseAxis& h,
                                         const DepthwiseAxis& w) {
  return {tile.image, h.first + tile.row * h.move,
          w.first + tile.column * w.move};
}

// The extent of the inputs of this many positions.
__device__ __forceinline__ int32_t reach(const DepthwiseAxis& axis,
                                         int32_t positions) {
  return (positions - 1) * axis.move + (axis.taps - 1) * axis.step + 1;
}

//----------------------------------------------------------------------------
// Reading and writing two channels
//----------------------------------------------------------------------------

__device__ __forceinline__ float2 widen(uint2 bits, mpc_dtype_t dtype) {
  if (dtype == MPC_DTYPE_F32)
    return make_float2(bits_float(bits.x), bits_float(bits.y));
  if (dtype == MPC_DTYPE_BF16)
    return make_float2(bits_float(bits.x << 16), bits_float(bits.y << 16));
  return make_float2(F16::widen(static_cast<uint16_t>(bits.x)),
                     F16::widen(static_cast<uint16_t>(bits.y)));
}

__device__ __forceinline__ uint2 narrow(float2 value, mpc_dtype_t dtype) {
  if (dtype == MPC_DTYPE_F32)
    return make_uint2(float_bits(value.x), float_bits(value.y));
  if (dtype == MPC_DTYPE_BF16)
    return make_uint2(Bf16::round(value.x), Bf16::round(value.y));
  return make_uint2(F16::round(value.x), F16::round(value.y));
}

// Elements `at` and at + `next`, as far as both channels exist.
__device__ __forceinline__ float2 read(const void* from, int64_t at,
                                       int64_t next, int32_t count,
                                       mpc_dtype_t dtype) {
  uint2 bits = make_uint2(0, 0);
  if (dtype == MPC_DTYPE_F32) {
    const uint32_t* words = static_cast<const uint32_t*>(from) + at;
    if (count > 0) bits.x = words[0];
    if (count > 1) bits.y = words[next];
  } else {
    const uint16_t* halves = static_cast<const uint16_t*>(from) + at;
    if (count > 0) bits.x = halves[0];
    if (count > 1) bits.y = halves[next];
  }
  return widen(bits, dtype);
}

// Writes adjacent elements; 16-bit ones at once if their number is even.
__device__ __forceinline__ void write(void* to, int64_t at, float2 value,
                                      const Lane& lane, mpc_dtype_t dtype) {
  const uint2 bits = narrow(value, dtype);
  if (dtype == MPC_DTYPE_F32) {
    uint32_t* words = static_cast<uint32_t*>(to) + at;
    if (lane.count > 0) words[0] = bits.x;
    if (lane.count > 1) words[1] = bits.y;
    return;
  }
  uint16_t* halves = static_cast<uint16_t*>(to) + at;
  if (lane.even) {
    if (lane.count > 0)
      *reinterpret_cast<uint32_t*>(halves) = bits.x | bits.y << 16;
  } else {
    if (lane.count > 0) halves[0] = static_cast<uint16_t>(bits.x);
    if (lane.count > 1) halves[1] = static_cast<uint16_t>(bits.y);
  }
}

// Copies rows x columns pixels to `tile`; pixels outside the image become zero.
// Returns the probe of the values.
__device__ __forceinline__ float copy_tile(
    const void* image, const int32_t* extent, const Tile& first, int32_t rows,
    int32_t columns, const DepthwiseParams& p, const Lane& lane, float2* tile) {
  constexpr int kTogether = 4;  // Loads in flight at the same time.
  // Exact, because a tile has less than 2^9 pixels.
  const uint32_t per_column = (1u << 20) / static_cast<uint32_t>(columns) + 1;
  const int32_t pixels = rows * columns;
  float probe = 0;
#pragma unroll 1
  for (int32_t pixel = lane.slot; pixel < pixels;
       pixel += kTogether * lane.slots) {
    float2 values[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const int32_t index = pixel + k * lane.slots;
      const int32_t down =
          static_cast<int32_t>(static_cast<uint32_t>(index) * per_column >> 20);
      const int32_t row = first.row + down,
                    column = first.column + index - down * columns;
      const bool inside = index < pixels && row >= 0 && row < extent[0] &&
                          column >= 0 && column < extent[1];
      const int64_t at =
          ((first.image * extent[0] + row) * extent[1] + column) * p.channels +
          lane.channel;
      values[k] = read(image, at, 1, inside ? lane.count : 0, p.dtype);
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const int32_t index = pixel + k * lane.slots;
      if (index < pixels) tile[index * kLanePairs + lane.pair] = values[k];
      probe = probe_of(values[k], probe);
    }
  }
  return probe;
}

//----------------------------------------------------------------------------
// The convolution, and the gradient of its input
//----------------------------------------------------------------------------

// Copies the weights of the taps to shared memory; returns their probe.
__device__ __forceinline__ float copy_weights(const DepthwiseParams& p,
                                              const void* weights,
                                              const DepthwiseAxis& h,
                                              const DepthwiseAxis& w,
                                              const Lane& lane, float2* to) {
  const int64_t window = p.kernel[0] * p.kernel[1];
  float probe = 0;
#pragma unroll 1
  for (int32_t i = lane.slot; i < h.taps * w.taps; i += lane.slots) {
    const int32_t down = i / w.taps, right = i - down * w.taps;
    const int64_t at = lane.channel * window +
                       (h.tap + down * h.tap_step) * p.kernel[1] + w.tap +
                       right * w.tap_step;
    const float2 value = read(weights, at, window, lane.count, p.dtype);
    to[i * kLanePairs + lane.pair] = value;
    probe = probe_of(value, probe);
  }
  return probe;
}

// Adds up to 7 adjacent taps of a row to 8 pixels.
__device__ __forceinline__ void slide(const float2* x, const float2* weights,
                                      int32_t taps, float2* sums) {
  float2 values[kRun];
#pragma unroll
  for (int i = 0; i < kRun; ++i)
    if (i < kStripPixels + taps - 1) values[i] = x[i * kLanePairs];
#pragma unroll
  for (int t = 0; t < kRowTaps; ++t) {
    if (t >= taps) break;
    const float2 weight = weights[t * kLanePairs];
#pragma unroll
    for (int i = 0; i < kStripPixels; ++i)
      sums[i] = multiply_add(values[i + t], weight, sums[i]);
  }
}

// Adds a row of taps to 8 pixels. x[0] is at `column` of an image of `columns`.
__device__ __forceinline__ void step(const float2* x, const float2* weights,
                                     const DepthwiseAxis& w, int32_t column,
                                     int32_t columns, float2* sums) {
#pragma unroll 1
  for (int32_t t = 0; t < w.taps; ++t) {
    const float2 weight = weights[t * kLanePairs];
#pragma unroll
    for (int i = 0; i < kStripPixels; ++i) {
      const int32_t right = i * w.move + t * w.step;
      if (column + right >= 0 && column + right < columns)
        sums[i] = multiply_add(x[right * kLanePairs], weight, sums[i]);
    }
  }
}

}  // namespace

// `bias` may be null.
extern "C" __global__ void __launch_bounds__(256, 3)
    mpc_depthwise(DepthwiseParams p, const void* from, const void* weights,
                  const void* bias, void* to) {
  MPC_DYNAMIC_SHARED(float2, shared);
  const uint32_t tile_index = blockIdx.x / p.channel_blocks;
  const Lane lane = lane_of(
      p, static_cast<int32_t>(blockIdx.x - tile_index * p.channel_blocks));
  const DepthwiseAxis &h = p.axes[0][blockIdx.y], &w = p.axes[1][blockIdx.z];
  const Tile tile = tile_of(p, tile_index), input = input_of(tile, h, w);
  if (tile.row >= h.positions || tile.column >= w.positions) return;

  const int32_t taps = h.taps * w.taps, columns = reach(w, p.tile[1]);
  float2* const staged = shared + taps * kLanePairs;
  bool finite = true;
  if (taps > 0) {
    const float probe = copy_weights(p, weights, h, w, lane, shared);
    copy_tile(from, p.from, input, reach(h, p.tile[0]), columns, p, lane,
              staged);
    finite = !__syncthreads_or(probe != 0);
  }

  const int32_t strips = p.tile[1] / kStripPixels;
  const int32_t row = lane.slot / strips,
                column = (lane.slot - row * strips) * kStripPixels;
  if (tile.row + row >= h.positions) return;
  float2 sums[kStripPixels];
#pragma unroll
  for (int i = 0; i < kStripPixels; ++i) sums[i] = make_float2(0, 0);
  const bool slides = finite && w.move == 1 && w.step == 1;
#pragma unroll 1
  for (int32_t t = 0; t < h.taps; ++t) {
    const int32_t down = row * h.move + t * h.step;
    if (input.row + down < 0 || input.row + down >= p.from[0]) continue;
    const float2* x =
        staged + (down * columns + column * w.move) * kLanePairs + lane.pair;
    const float2* weight = shared + t * w.taps * kLanePairs + lane.pair;
    if (slides) {
#pragma unroll 1
      for (int32_t tap = 0; tap < w.taps; tap += kRowTaps)
        slide(x + tap * kLanePairs, weight + tap * kLanePairs, w.taps - tap,
              sums);
    } else {
      step(x, weight, w, input.column + column * w.move, p.from[1], sums);
    }
  }

  // Through shared memory, so that the code that writes is not unrolled.
  __syncthreads();
  float2* const mine = staged + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kStripPixels; ++i) mine[i * blockDim.x] = sums[i];
  float2 added = make_float2(0, 0);
  if (bias) added = read(bias, lane.channel, 1, lane.count, p.bias_dtype);
  const int32_t pixels = min(kStripPixels, w.positions - tile.column - column);
  const int64_t line =
      (tile.image * p.to[0] + (tile.row + row) * h.stride + h.phase) * p.to[1];
#pragma unroll 1
  for (int32_t i = 0; i < pixels; ++i) {
    const float2 sum = mine[i * blockDim.x];
    const int32_t to_column = (tile.column + column + i) * w.stride + w.phase;
    write(to, (line + to_column) * p.channels + lane.channel,
          make_float2(sum.x + added.x, sum.y + added.y), lane, p.result_dtype);
  }
}

//----------------------------------------------------------------------------
// The gradient of the weight
//----------------------------------------------------------------------------

namespace {

// Adds the products of 8 gradients and the inputs of up to 7 adjacent taps.
__device__ __forceinline__ void slide_grad(const float2* grad, const float2* x,
                                           int32_t taps, float2* sums) {
  float2 values[kRun], dy[kStripPixels];
#pragma unroll
  for (int i = 0; i < kRun; ++i)
    if (i < kStripPixels + taps - 1) values[i] = x[i * kLanePairs];
#pragma unroll
  for (int i = 0; i < kStripPixels; ++i) dy[i] = grad[i * kLanePairs];
#pragma unroll
  for (int t = 0; t < kRowTaps; ++t) {
    if (t >= taps) break;
#pragma unroll
    for (int i = 0; i < kStripPixels; ++i)
      sums[t] = multiply_add(values[i + t], dy[i], sums[t]);
  }
}

// The same for any stride and dilation: `pixels` gradients, and inputs of which
// x[0] is at `column` of an image of `columns`.
__device__ __forceinline__ void step_grad(const float2* grad, const float2* x,
                                          int32_t pixels, int32_t taps,
                                          const DepthwiseAxis& w,
                                          int32_t column, int32_t columns,
                                          float2* sums) {
#pragma unroll 1
  for (int32_t i = 0; i < pixels; ++i) {
    const float2 dy = grad[i * kLanePairs];
#pragma unroll
    for (int t = 0; t < kRowTaps; ++t) {
      const int32_t right = i * w.move + t * w.step;
      if (t < taps && column + right >= 0 && column + right < columns)
        sums[t] = multiply_add(x[right * kLanePairs], dy, sums[t]);
    }
  }
}

}  // namespace

// Writes, for each tap and channel, the sums of the threads that share them, to
// parts[chunk * sharers + sharer][tap][channel].
extern "C" __global__ void __launch_bounds__(256, 3)
    mpc_depthwise_grad_weight(DepthwiseWeightParams q, const void* grad,
                              const void* image, float* parts) {
  MPC_DYNAMIC_SHARED(float2, shared);
  const DepthwiseParams& p = q.image;
  const uint32_t chunk = blockIdx.x / p.channel_blocks;
  const Lane lane =
      lane_of(p, static_cast<int32_t>(blockIdx.x - chunk * p.channel_blocks));
  const DepthwiseAxis &h = p.axes[0][0], &w = p.axes[1][0];
  const int32_t rows = reach(h, p.tile[0]), columns = reach(w, p.tile[1]);
  float2* const staged_grad = shared + rows * columns * kLanePairs;

  // This thread's run of taps, and its number among those with the same run.
  const int32_t sharer = lane.slot / q.block_groups;
  const int32_t group = static_cast<int32_t>(blockIdx.y) * q.block_groups +
                        lane.slot - sharer * q.block_groups;
  const int32_t tap_h = group / q.runs,
                tap_w = (group - tap_h * q.runs) * kRowTaps;
  // The last block may have more threads than runs.
  const int32_t taps =
      tap_h < p.kernel[0] ? min(kRowTaps, p.kernel[1] - tap_w) : 0;
  const int32_t strips = p.tile[1] / kStripPixels;

  float2 sums[kRowTaps];
#pragma unroll
  for (int t = 0; t < kRowTaps; ++t) sums[t] = make_float2(0, 0);
#pragma unroll 1
  for (int64_t index = chunk; index < q.count; index += q.chunks) {
    const Tile tile = tile_of(p, static_cast<uint32_t>(index)),
               input = input_of(tile, h, w);
    __syncthreads();  // The previous tile is no longer read.
    float probe = 0;
#pragma unroll 1  // One copy of the code for both tiles.
    for (int second = 0; second < 2; ++second) {
      const Tile first = {tile.image, second ? tile.row : input.row,
                          second ? tile.column : input.column};
      probe +=
          copy_tile(second ? grad : image, second ? p.to : p.from, first,
                    second ? p.tile[0] : rows, second ? p.tile[1] : columns, p,
                    lane, second ? staged_grad : shared);
    }
    const bool slides =
        !__syncthreads_or(probe != 0) && w.move == 1 && w.step == 1;
    if (taps == 0) continue;
#pragma unroll 1
    for (int32_t strip = sharer; strip < p.tile[0] * strips;
         strip += q.sharers) {
      const int32_t row = strip / strips,
                    column = (strip - row * strips) * kStripPixels;
      const int32_t down = row * h.move + tap_h * h.step,
                    right = column * w.move + tap_w * w.step;
      if (tile.row + row >= p.to[0] || input.row + down < 0 ||
          input.row + down >= p.from[0])
        continue;
      const float2* dy =
          staged_grad + (row * p.tile[1] + column) * kLanePairs + lane.pair;
      const float2* x =
          shared + (down * columns + right) * kLanePairs + lane.pair;
      if (slides)
        slide_grad(dy, x, taps, sums);
      else
        step_grad(dy, x, min(kStripPixels, p.to[1] - tile.column - column),
                  taps, w, input.column + right, p.from[1], sums);
    }
  }

  const int64_t part = int64_t{chunk} * q.sharers + sharer;
  const int64_t first = (part * p.kernel[0] + tap_h) * p.kernel[1] + tap_w;
#pragma unroll
  for (int t = 0; t < kRowTaps; ++t)
    if (t < taps)
      write(parts, (first + t) * p.channels + lane.channel, sums[t], lane,
            MPC_DTYPE_F32);
}

// Adds `count` parts of [taps, channels] to a result of [channels, taps]. Each
// of 8 warps adds every 8th part of a tap and 32 channels.
extern "C" __global__ void __launch_bounds__(256)
    mpc_depthwise_sum(const float* parts, float* result, int64_t count,
                      int32_t taps, int32_t channels) {
  constexpr int kWarps = 8;
  MPC_SHARED(float, sums, [kWarps][32]);
  const int lane = static_cast<int>(threadIdx.x) % 32,
            warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t channel = int64_t{blockIdx.x} * 32 + lane, tap = blockIdx.y;
  float sum = 0;
  if (channel < channels) {
#pragma unroll 4
    for (int64_t part = warp; part < count; part += kWarps)
      sum += parts[(part * taps + tap) * channels + channel];
  }
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || channel >= channels) return;
#pragma unroll
  for (int i = 1; i < kWarps; ++i) sum += sums[i][lane];
  result[channel * taps + tap] = sum;
}
