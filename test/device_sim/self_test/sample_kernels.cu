#include "kernels/cuda/kernels/device.h"
#include "test/device_sim/launch.h"
#include "test/device_sim/self_test/sample_kernels.h"

namespace mpc::device_sim::samples {
namespace {

constexpr int kTile = 32;
constexpr unsigned kAll = 0xffffffffu;

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2)
    value += __shfl_down_sync(kAll, value, lanes);
  return value;
}

__global__ void __launch_bounds__(1024)
    sum_1024_kernel(const float* __restrict__ in, float* __restrict__ out) {
  MPC_SHARED(float, sums, [32]);
  const int lane = threadIdx.x % warpSize;
  const int warp = threadIdx.x / warpSize;
  const float sum = warp_sum(__ldg(in + threadIdx.x));
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  if (warp != 0) return;
  const float total = warp_sum(sums[lane]);
  if (lane == 0) *out = total;
}

// A template, as most kernels are: each instance has arrays of its own.
template <bool kBarrier>
__global__ void transpose_kernel(const float* in, float* out, int rows,
                                 int columns) {
  MPC_SHARED(float, tile, [kTile][kTile + 1]);
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  if (row < rows && column < columns)
    tile[threadIdx.y][threadIdx.x] = in[row * columns + column];
  if (kBarrier) __syncthreads();
  const int to_row = blockIdx.x * kTile + threadIdx.y;
  const int to_column = blockIdx.y * kTile + threadIdx.x;
  if (to_row < columns && to_column < rows)
    out[to_row * rows + to_column] = tile[threadIdx.x][threadIdx.y];
}

__global__ void partial_columns_kernel(const float* in, float* partial,
                                       int rows, int columns) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int parts = gridDim.y;
  const int begin = rows * static_cast<int>(blockIdx.y) / parts;
  const int end = rows * (static_cast<int>(blockIdx.y) + 1) / parts;
  if (column >= columns) return;
  float sum = 0;
  for (int row = begin; row < end; ++row) sum += in[row * columns + column];
  partial[blockIdx.y * columns + column] = sum;
}

__global__ void finish_columns_kernel(const float* partial, float* out,
                                      int columns, int parts) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  float sum = 0;
  for (int part = 0; part < parts; ++part)
    sum += partial[part * columns + column];
  out[column] = sum;
}

__global__ void histogram_kernel(const unsigned* in, int n, unsigned* counts,
                                 int bins, unsigned* largest) {
  MPC_DYNAMIC_SHARED(unsigned, local);
  for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) local[bin] = 0;
  __syncthreads();
  const int step = blockDim.x * gridDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    atomicAdd(&local[in[i] % bins], 1u);
    atomicMax(largest, in[i]);
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < bins; bin += blockDim.x)
    atomicAdd(&counts[bin], local[bin]);
}

__global__ void reverse_rows_kernel(const float* in, float* out, int n) {
  MPC_DYNAMIC_SHARED(float, row);
  const int quads = n / 4;
  const float4* from = reinterpret_cast<const float4*>(in + blockIdx.x * n);
  float4* to = reinterpret_cast<float4*>(out + blockIdx.x * n);
  for (int i = threadIdx.x; i < quads; i += blockDim.x)
    reinterpret_cast<float4*>(row)[i] = from[i];
  __syncthreads();
  for (int i = threadIdx.x; i < quads; i += blockDim.x) {
    const float* last = row + (n - 1 - 4 * i);
    to[i] = make_float4(last[0], last[-1], last[-2], last[-3]);
  }
}

__global__ void plain_shared_kernel(const float* in, float* out) {
  __shared__ float row[128];
  const int i = blockIdx.x * 128 + threadIdx.x;
  row[threadIdx.x] = in[i];
  __syncthreads();
  out[i] = row[127 - threadIdx.x];
}

unsigned ceil_div(int a, int b) {
  return static_cast<unsigned>((a + b - 1) / b);
}

}  // namespace

std::string sum_1024(const float* in, float* out) {
  return launch(sum_1024_kernel, dim3(1), dim3(1024), 0, in, out);
}

std::string transpose(const float* in, float* out, int rows, int columns) {
  return launch(transpose_kernel<true>,
                dim3(ceil_div(columns, kTile), ceil_div(rows, kTile)),
                dim3(kTile, kTile), 0, in, out, rows, columns);
}

std::string transpose_racing(const float* in, float* out, int rows,
                             int columns) {
  return launch(transpose_kernel<false>,
                dim3(ceil_div(columns, kTile), ceil_div(rows, kTile)),
                dim3(kTile, kTile), 0, in, out, rows, columns);
}

std::string sum_columns(const float* in, float* partial, float* out, int rows,
                        int columns, int parts) {
  const unsigned blocks = ceil_div(columns, 64);
  std::string error = launch(partial_columns_kernel, dim3(blocks, parts),
                             dim3(64), 0, in, partial, rows, columns);
  if (!error.empty()) return error;
  return launch(finish_columns_kernel, dim3(blocks), dim3(64), 0, partial, out,
                columns, parts);
}

std::string histogram(const unsigned* in, int n, unsigned* bins_out, int bins,
                      unsigned* largest) {
  return launch(histogram_kernel, dim3(5), dim3(96), bins * sizeof(unsigned),
                in, n, bins_out, bins, largest);
}

std::string reverse_rows(const float* in, float* out, int rows, int n) {
  return launch(reverse_rows_kernel, dim3(rows), dim3(64), n * sizeof(float),
                in, out, n);
}

std::string plain_shared(const float* in, float* out, int rows) {
  return launch(plain_shared_kernel, dim3(rows), dim3(128), 0, in, out);
}

}  // namespace mpc::device_sim::samples
