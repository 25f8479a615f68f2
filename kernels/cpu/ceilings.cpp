#include "kernels/cpu/ceilings.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/team/team.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "kernels/cpu_isa.h"

namespace mpc::kernels {
namespace {

constexpr int kChains = 12;  // Enough to hide the latency of both units.
// Some milliseconds, so that the time until all threads run does not matter.
constexpr int kSteps = 1500000;
constexpr int kRuns = 8;
constexpr size_t kCopyBytes = size_t{64} << 20;
constexpr size_t kCopyBlock = size_t{1} << 18;
constexpr size_t kPage = 4096;

double seconds_now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A loop of multiply-adds and its number of operations.
struct Loop {
  float (*run)();
  double flops;
};

#if defined(__x86_64__)
__attribute__((target("avx512f"))) float fma_512() {
  __m512 sums[kChains];
  const __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
  for (__m512& sum : sums) sum = b;
  for (int step = 0; step < kSteps; ++step)
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = _mm512_fmadd_ps(sums[i], a, b);
  __m512 total = sums[0];
  for (int i = 1; i < kChains; ++i) total = _mm512_add_ps(total, sums[i]);
  return _mm512_cvtss_f32(total);
}

__attribute__((target("avx512f,avx512bf16"))) float dot_512() {
  __m512 sums[kChains];
  const __m512i ones = _mm512_set1_epi32(0x3f803f80);
  const __m512bh a = reinterpret_cast<__m512bh>(ones);
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  for (int step = 0; step < kSteps; ++step)
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = _mm512_dpbf16_ps(sums[i], a, a);
  __m512 total = sums[0];
  for (int i = 1; i < kChains; ++i) total = _mm512_add_ps(total, sums[i]);
  return _mm512_cvtss_f32(total);
}

__attribute__((target("avx2,fma"))) float fma_256() {
  __m256 sums[kChains];
  const __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
  for (__m256& sum : sums) sum = b;
  for (int step = 0; step < kSteps; ++step)
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = _mm256_fmadd_ps(sums[i], a, b);
  __m256 total = sums[0];
  for (int i = 1; i < kChains; ++i) total = _mm256_add_ps(total, sums[i]);
  return _mm256_cvtss_f32(total);
}

// Four accumulators of 16 x 16, which products of two pairs of operands update.
constexpr int kTileSteps = 100000;
constexpr double kTileFlops = 4.0 * 2 * 16 * 16 * 32;

__attribute__((target("amx-tile,amx-bf16"))) float dot_tiles() {
  struct alignas(64) Config {
    uint8_t palette = 1, start = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } config;
  _tile_loadconfig(&config);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (int step = 0; step < kTileSteps; ++step) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
  return 0;
}

// Whether the CPU has AMX for bf16 and the system lets this process use it.
bool has_amx() {
  if (cpu_isa_limit().isa != CpuIsa::all) return false;
  unsigned eax, ebx, ecx, edx = 0;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
  constexpr unsigned kBf16 = 1u << 22, kTiles = 1u << 24;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return (edx & kBf16) && (edx & kTiles) &&
         ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// Plain stores, as kernels use. memcpy would choose others for large blocks.
__attribute__((target("avx"))) void copy_block(uint8_t* to, const uint8_t* from,
                                               size_t bytes) {
  for (size_t i = 0; i < bytes; i += 32)
    _mm256_store_si256(
        reinterpret_cast<__m256i*>(to + i),
        _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i)));
}

Loop f32_loop() {
  if (cpu::has_avx512()) return {fma_512, 32.0 * kChains * kSteps};
  return {fma_256, 16.0 * kChains * kSteps};
}

Loop bf16_loop() {
  if (cpu::has_avx512_bf16()) return {dot_512, 64.0 * kChains * kSteps};
  return {nullptr, 0};
}

Loop amx_loop() {
  if (has_amx()) return {dot_tiles, kTileFlops * kTileSteps};
  return {nullptr, 0};
}

bool has_vectors() { return cpu::has_avx2(); }
#else
void copy_block(uint8_t*, const uint8_t*, size_t) {}
Loop f32_loop() { return {nullptr, 0}; }
Loop bf16_loop() { return {nullptr, 0}; }
Loop amx_loop() { return {nullptr, 0}; }
bool has_vectors() { return false; }
#endif

// The smallest time of several runs of `body`.
template <typename Body>
double best_time(const Body& body) {
  double best = 1e9;
  for (int run = 0; run < kRuns; ++run) {
    const double start = seconds_now();
    body();
    best = std::min(best, seconds_now() - start);
  }
  return best;
}

double rate_of(const Loop& loop, int threads) {
  if (!loop.run) return 0;
  std::atomic<float> sink{0};
  std::atomic<int> parts_run{0};
  const double time = best_time([&] {
    parts_run = 0;
    parallel(threads, [&](int, int) {
      sink = loop.run();
      ++parts_run;
    });
  });
  return loop.flops * parts_run / time;
}

}  // namespace

double measure_copy(size_t bytes, int threads) {
  if (!has_vectors()) return 0;
  // Whole pages for each thread.
  const auto block = std::max(
      kPage, std::min(kCopyBlock, bytes / static_cast<size_t>(threads)) /
                 kPage * kPage);
  const size_t blocks = std::max<size_t>(1, bytes / block);
  const size_t size = blocks * block;
  void* memory = ::mmap(nullptr, 2 * size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  auto* from = static_cast<uint8_t*>(memory);
  uint8_t* to = from + size;
  // Pages that were never written share one page of zeros.
  parallel(threads, [&](int part, int parts) {
    const Range mine =
        share(static_cast<int64_t>(2 * size / kPage), part, parts);
    for (int64_t page = mine.begin; page < mine.end; ++page)
      from[static_cast<size_t>(page) * kPage] = 1;
  });
  const size_t repeats = std::max<size_t>(1, kCopyBytes / size);
  const double time = best_time([&] {
    parallel(threads, [&](int part, int parts) {
      const Range mine = share(static_cast<int64_t>(blocks), part, parts);
      for (size_t repeat = 0; repeat < repeats; ++repeat)
        for (int64_t i = mine.begin; i < mine.end; ++i) {
          const size_t at = static_cast<size_t>(i) * block;
          copy_block(to + at, from + at, block);
        }
    });
  });
  ::munmap(memory, 2 * size);
  return 2.0 * static_cast<double>(size) * static_cast<double>(repeats) / time;
}

Ceilings measure_ceilings(int threads) {
  if (!has_vectors()) return {};
  return {rate_of(f32_loop(), threads), rate_of(bf16_loop(), threads),
          rate_of(amx_loop(), threads), measure_copy(kCopyBytes, threads)};
}

}  // namespace mpc::kernels
