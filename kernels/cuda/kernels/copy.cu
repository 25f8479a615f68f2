// Copies several pieces of memory in one launch; see copies.h.

#include "kernels/cuda/kernels/copy_params.h"
#include "kernels/cuda/kernels/device.h"

namespace {

// What a thread copies at once.
struct alignas(16) Words {
  uint32_t words[4];
};

// Copies the part of a piece that consists of whole, aligned elements of type T
// from byte `begin` on; returns the byte after it.
template <typename T>
__device__ __forceinline__ uint64_t
copy_as(const mpc::kernels::CopyPiece& piece, uint64_t begin) {
  if ((piece.from | piece.to) % sizeof(T) != 0) return begin;
  const T* from = reinterpret_cast<const T*>(piece.from);
  T* to = reinterpret_cast<T*>(piece.to);
  const uint64_t count = piece.bytes / sizeof(T);
  const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  for (uint64_t i = begin / sizeof(T) +
                    static_cast<uint64_t>(blockIdx.x) * blockDim.x +
                    threadIdx.x;
       i < count; i += step)
    to[i] = from[i];
  return count * sizeof(T);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    mpc_copy_pieces(mpc::kernels::CopyParams params) {
  for (int32_t i = 0; i < params.count; ++i) {
    const mpc::kernels::CopyPiece& piece = params.pieces[i];
    uint64_t done = copy_as<Words>(piece, 0);
    done = copy_as<uint32_t>(piece, done);
    copy_as<uint8_t>(piece, done);
  }
}
