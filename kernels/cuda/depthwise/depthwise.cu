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

// The two channels of a thread that sums, and its number among the threads with
// the same ones. `count` is the number of these channels that exist.
struct Lane {
  int32_t pair, slot, slots;
  int32_t channel, count;
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
  return lane;
}

// The channels of a thread that copies: four.
struct Quad {
  int32_t index, slot, slots;
  int32_t channel, count;
  bool aligned;  // All or none of them exist, and are read at once.
};

__device__ __forceinline__ Quad quad_of(const DepthwiseParams& p,
                                        int32_t channel_block) {
  constexpr int kQuads = kLanePairs / 2;
  const int32_t thread = static_cast<int32_t>(threadIdx.x);
  Quad quad;
  quad.index = thread % kQuads;
  quad.slot = thread / kQuads;
  quad.slots = static_cast<int32_t>(blockDim.x) / kQuads;
  quad.channel = 4 * (channel_block * kQuads + quad.index);
  quad.count = max(0, min(4, p.channels - quad.channel));
  quad.aligned = p.channels % 4 == 0;
  return quad;
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

// Divides numbers below 2^9, such as pixels of a tile, by one that stays the
// same.
struct Divisor {
  uint32_t factor;
  __device__ __forceinline__ explicit Divisor(int32_t divisor)
      : factor((1u << 20) / static_cast<uint32_t>(divisor) + 1) {}
  __device__ __forceinline__ int32_t quotient(int32_t number) const {
    return static_cast<int32_t>(static_cast<uint32_t>(number) * factor >> 20);
  }
};

__device__ __forceinline__ bool is_below(int32_t number, int32_t end) {
  return static_cast<uint32_t>(number) < static_cast<uint32_t>(end);
}

// The extent of the inputs of this many positions.
__device__ __forceinline__ int32_t reach(const DepthwiseAxis& axis,
                                         int32_t positions) {
  return (positions - 1) * axis.move + (axis.taps - 1) * axis.step + 1;
}

//----------------------------------------------------------------------------
// Reading and writing
//----------------------------------------------------------------------------

__device__ __forceinline__ float widen(uint32_t bits, mpc_dtype_t dtype) {
  if (dtype == MPC_DTYPE_F32) return bits_float(bits);
  if (dtype == MPC_DTYPE_BF16) return bits_float(bits << 16);
  return F16::widen(static_cast<uint16_t>(bits));
}

__device__ __forceinline__ uint32_t narrow(float value, mpc_dtype_t dtype) {
  if (dtype == MPC_DTYPE_F32) return float_bits(value);
  return dtype == MPC_DTYPE_BF16 ? Bf16::round(value) : F16::round(value);
}

// The first `count` of elements `at` and at + `next`.
__device__ __forceinline__ uint2 read_pair(const void* from, int64_t at,
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
  return bits;
}

// The first `count` of four adjacent elements. 16-bit elements fill two words.
__device__ __forceinline__ uint4 read_quad(const void* from, int64_t at,
                                           int32_t count, bool aligned,
                                           mpc_dtype_t dtype) {
  uint4 bits = make_uint4(0, 0, 0, 0);
  if (dtype == MPC_DTYPE_F32) {
    const uint32_t* words = static_cast<const uint32_t*>(from) + at;
    if (aligned) {
      if (count > 0) bits = *reinterpret_cast<const uint4*>(words);
    } else {
      if (count > 0) bits.x = words[0];
      if (count > 1) bits.y = words[1];
      if (count > 2) bits.z = words[2];
      if (count > 3) bits.w = words[3];
    }
  } else {
    const uint16_t* halves = static_cast<const uint16_t*>(from) + at;
    if (aligned) {
      if (count > 0) {
        const uint2 both = *reinterpret_cast<const uint2*>(halves);
        bits.x = both.x;
        bits.y = both.y;
      }
    } else {
      if (count > 0) bits.x = halves[0];
      if (count > 1) bits.x |= uint32_t{halves[1]} << 16;
      if (count > 2) bits.y = halves[2];
      if (count > 3) bits.y |= uint32_t{halves[3]} << 16;
    }
  }
  return bits;
}

__device__ __forceinline__ float4 widen_quad(uint4 bits, mpc_dtype_t dtype) {
  if (dtype != MPC_DTYPE_F32)
    bits = make_uint4(bits.x & 0xffff, bits.x >> 16, bits.y & 0xffff,
                      bits.y >> 16);
  return make_float4(widen(bits.x, dtype), widen(bits.y, dtype),
                     widen(bits.z, dtype), widen(bits.w, dtype));
}

__device__ __forceinline__ void write_quad(void* to, int64_t at, float4 value,
                                           const Quad& quad,
                                           mpc_dtype_t dtype) {
  const uint4 bits = make_uint4(narrow(value.x, dtype), narrow(value.y, dtype),
                                narrow(value.z, dtype), narrow(value.w, dtype));
  if (dtype == MPC_DTYPE_F32) {
    uint32_t* words = static_cast<uint32_t*>(to) + at;
    if (quad.aligned) {
      if (quad.count > 0) *reinterpret_cast<uint4*>(words) = bits;
    } else {
      if (quad.count > 0) words[0] = bits.x;
      if (quad.count > 1) words[1] = bits.y;
      if (quad.count > 2) words[2] = bits.z;
      if (quad.count > 3) words[3] = bits.w;
    }
  } else {
    uint16_t* halves = static_cast<uint16_t*>(to) + at;
    if (quad.aligned) {
      if (quad.count > 0)
        *reinterpret_cast<uint2*>(halves) =
            make_uint2(bits.x | bits.y << 16, bits.z | bits.w << 16);
    } else {
      if (quad.count > 0) halves[0] = static_cast<uint16_t>(bits.x);
      if (quad.count > 1) halves[1] = static_cast<uint16_t>(bits.y);
      if (quad.count > 2) halves[2] = static_cast<uint16_t>(bits.z);
      if (quad.count > 3) halves[3] = static_cast<uint16_t>(bits.w);
    }
  }
}

// Where four channels of a pixel lie in a tile.
__device__ __forceinline__ float4* quad_at(float2* tile, int32_t pixel,
                                           const Quad& quad) {
  return reinterpret_cast<float4*>(tile + pixel * kLanePairs) + quad.index;
}

// Copies rows x columns pixels to `tile`; pixels outside the image become zero.
// Returns the probe of the values. kTogether loads are in flight at a time.
template <int kTogether, bool kAligned>
__device__ __forceinline__ float copy_pixels(
    const void* image, const int32_t* extent, const Tile& first, int32_t rows,
    int32_t columns, const DepthwiseParams& p, const Quad& quad, float2* tile) {
  const Divisor by_columns(columns);
  const int32_t pixels = rows * columns;
  const int64_t row_stride = int64_t{extent[1]} * p.channels;
  const int64_t start = (first.image * extent[0] + first.row) * row_stride +
                        int64_t{first.column} * p.channels + quad.channel;
  float probe = 0;
#pragma unroll 1
  for (int32_t pixel = quad.slot; pixel < pixels;
       pixel += kTogether * quad.slots) {
    uint4 bits[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const int32_t index = pixel + k * quad.slots;
      const int32_t down = by_columns.quotient(index),
                    right = index - down * columns;
      const bool inside = index < pixels &&
                          is_below(first.row + down, extent[0]) &&
                          is_below(first.column + right, extent[1]);
      const int64_t at =
          start + down * row_stride + int64_t{right} * p.channels;
      bits[k] =
          read_quad(image, at, inside ? quad.count : 0, kAligned, p.dtype);
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const int32_t index = pixel + k * quad.slots;
      const float4 value = widen_quad(bits[k], p.dtype);
      if (index < pixels) *quad_at(tile, index, quad) = value;
      probe = probe_of(make_float2(value.x, value.y),
                       probe_of(make_float2(value.z, value.w), probe));
    }
  }
  return probe;
}

__device__ __forceinline__ float copy_tile(
    const void* image, const int32_t* extent, const Tile& first, int32_t rows,
    int32_t columns, const DepthwiseParams& p, const Quad& quad, float2* tile) {
  return quad.aligned ? copy_pixels<4, true>(image, extent, first, rows,
                                             columns, p, quad, tile)
                      : copy_pixels<1, false>(image, extent, first, rows,
                                              columns, p, quad, tile);
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
  constexpr int kTogether = 4;  // Taps whose loads are in flight at a time.
  const Divisor by_columns(w.taps);
  const int32_t taps = h.taps * w.taps, window = p.kernel[0] * p.kernel[1];
  const int64_t start = int64_t{lane.channel} * window;
  float probe = 0;
#pragma unroll 1
  for (int32_t tap = lane.slot; tap < taps; tap += kTogether * lane.slots) {
    uint2 bits[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const int32_t index = tap + k * lane.slots;
      const int32_t down = by_columns.quotient(index),
                    right = index - down * w.taps;
      const int64_t at = start + (h.tap + down * h.tap_step) * p.kernel[1] +
                         w.tap + right * w.tap_step;
      bits[k] = read_pair(weights, at, window, index < taps ? lane.count : 0,
                          p.dtype);
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const int32_t index = tap + k * lane.slots;
      const float2 value =
          make_float2(widen(bits[k].x, p.dtype), widen(bits[k].y, p.dtype));
      if (index < taps) to[index * kLanePairs + lane.pair] = value;
      probe = probe_of(value, probe);
    }
  }
  return probe;
}

// Adds up to 7 adjacent taps of a row to 8 pixels.
__device__ __forceinline__ void slide(const float2* x, const float2* weights,
                                      int32_t taps, float2* sums) {
  float2 values[kRun];
#pragma unroll
  for (int i = 0; i < kRun; ++i)
    if (i < kStripPixels || i - kStripPixels < taps - 1)
      values[i] = x[i * kLanePairs];
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
      if (is_below(column + right, columns))
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
  const int32_t channel_block =
      static_cast<int32_t>(blockIdx.x - tile_index * p.channel_blocks);
  const Lane lane = lane_of(p, channel_block);
  const Quad quad = quad_of(p, channel_block);
  const DepthwiseAxis h = p.axes[0][blockIdx.y], w = p.axes[1][blockIdx.z];
  const Tile tile = tile_of(p, tile_index), input = input_of(tile, h, w);
  if (tile.row >= h.positions || tile.column >= w.positions) return;

  const int32_t taps = h.taps * w.taps, columns = reach(w, p.tile[1]);
  float2* const staged = shared + taps * kLanePairs;
  bool finite = true;
  if (taps > 0) {
    const float probe = copy_weights(p, weights, h, w, lane, shared);
    copy_tile(from, p.from, input, reach(h, p.tile[0]), columns, p, quad,
              staged);
    finite = !__syncthreads_or(probe != 0);
  }

  const int32_t strips = p.tile[1] / kStripPixels;
  const int32_t row = lane.slot / strips,
                column = (lane.slot - row * strips) * kStripPixels;
  float2 sums[kStripPixels];
#pragma unroll
  for (int i = 0; i < kStripPixels; ++i) sums[i] = make_float2(0, 0);
  const bool slides = finite && w.move == 1 && w.step == 1;
#pragma unroll 1
  for (int32_t t = 0; t < h.taps; ++t) {
    const int32_t down = row * h.move + t * h.step;
    if (!is_below(input.row + down, p.from[0])) continue;
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

  // Through shared memory, so that threads write four channels at once.
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kStripPixels; ++i)
    staged[(row * p.tile[1] + column + i) * kLanePairs + lane.pair] = sums[i];
  __syncthreads();
  float4 added = make_float4(0, 0, 0, 0);
  if (bias)
    added = widen_quad(
        read_quad(bias, quad.channel, quad.count, quad.aligned, p.bias_dtype),
        p.bias_dtype);
  const int32_t end = min(p.tile[0], h.positions - tile.row) * p.tile[1];
#pragma unroll 1
  for (int32_t pixel = quad.slot; pixel < end; pixel += quad.slots) {
    const int32_t down = pixel / kStripPixels / strips;
    const int32_t to_row = (tile.row + down) * h.stride + h.phase,
                  position = tile.column + pixel - down * p.tile[1];
    if (position >= w.positions) continue;
    const float4 sum = *quad_at(staged, pixel, quad);
    write_quad(to,
               ((tile.image * p.to[0] + to_row) * p.to[1] +
                position * w.stride + w.phase) *
                       p.channels +
                   quad.channel,
               make_float4(sum.x + added.x, sum.y + added.y, sum.z + added.z,
                           sum.w + added.w),
               quad, p.result_dtype);
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
    if (i < kStripPixels || i - kStripPixels < taps - 1)
      values[i] = x[i * kLanePairs];
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
      if (t < taps && is_below(column + right, columns))
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
  const int32_t channel_block =
      static_cast<int32_t>(blockIdx.x - chunk * p.channel_blocks);
  const Lane lane = lane_of(p, channel_block);
  const Quad quad = quad_of(p, channel_block);
  const DepthwiseAxis h = p.axes[0][0], w = p.axes[1][0];
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
                    quad, second ? staged_grad : shared);
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
      if (tile.row + row >= p.to[0] || !is_below(input.row + down, p.from[0]))
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
  for (int t = 0; t < kRowTaps; ++t) {
    if (t >= taps) break;
    float* const to = parts + (first + t) * p.channels + lane.channel;
    if (lane.count > 0) to[0] = sums[t].x;
    if (lane.count > 1) to[1] = sums[t].y;
  }
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
#pragma unroll 8
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
