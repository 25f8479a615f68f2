#include "test/bench/kernels/copy.h"

#include <immintrin.h>

namespace mpc::bench {
namespace {

// Uses intrinsics, because volatile accesses would be slow, and memcpy chooses
// the kind of stores by size.
__attribute__((target("avx512f"))) void plain(float* to, const float* from,
                                              size_t count) {
  for (size_t i = 0; i < count; i += 16)
    _mm512_store_ps(to + i, _mm512_load_ps(from + i));
}

__attribute__((target("avx512f"))) void streaming(float* to, const float* from,
                                                  size_t count) {
  for (size_t i = 0; i < count; i += 16)
    _mm512_stream_ps(to + i, _mm512_load_ps(from + i));
  _mm_sfence();
}

void share(void (*copy)(float*, const float*, size_t), void* to,
           const void* from, size_t bytes) {
  constexpr size_t kBlock = 1 << 16;
  auto* target = static_cast<float*>(to);
  auto* source = static_cast<const float*>(from);
  const size_t floats = bytes / sizeof(float);
#pragma omp parallel for schedule(static)
  for (size_t begin = 0; begin < floats; begin += kBlock)
    copy(target + begin, source + begin,
         floats - begin < kBlock ? floats - begin : kBlock);
}

}  // namespace

void copy_plain(void* to, const void* from, size_t bytes) {
  share(plain, to, from, bytes);
}

void copy_streaming(void* to, const void* from, size_t bytes) {
  share(streaming, to, from, bytes);
}

}  // namespace mpc::bench
