#include "kernels/cpu/widened/conversion.h"

#include <algorithm>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/loops/target.h"
#include "kernels/float_types.h"

namespace mpc::kernels::cpu {
namespace {

// Number of elements that justify another thread.
constexpr double kElementsPerThread = 1 << 15;

#ifdef __x86_64__
MPC_BEGIN_TARGET(MPC_AVX2)
namespace avx2 {
#define MPC_F16_WIDTH 8
#include "kernels/cpu/loops/conversion_loops.h"
#undef MPC_F16_WIDTH
}  // namespace avx2
MPC_END_TARGET

MPC_BEGIN_TARGET(MPC_AVX512)
namespace avx512 {
#define MPC_F16_WIDTH 16
#include "kernels/cpu/loops/conversion_loops.h"
#undef MPC_F16_WIDTH
}  // namespace avx512
MPC_END_TARGET
#else
namespace baseline {
#define MPC_F16_WIDTH 0
#include "kernels/cpu/loops/conversion_loops.h"
#undef MPC_F16_WIDTH
}  // namespace baseline
#endif

ConversionLoops best_loops(mpc_dtype_t dtype) {
#ifdef __x86_64__
  if (has_avx512()) return avx512::loops(dtype);
  return avx2::loops(dtype);
#else
  return baseline::loops(dtype);
#endif
}

// Calls body(first element in the operand, first element in f32, count) for all
// runs of a part, on several threads if it is large.
template <typename Body>
void for_runs(const Part& part, int threads, Body&& body) {
  Part runs = part;
  if (part.stride == part.columns || part.rows == 1)
    runs = {part.offset, 1, part.count(), part.count()};
  const int wanted = threads_for(static_cast<double>(part.count()),
                                 kElementsPerThread, threads);
  if (wanted <= 1) {
    for (int64_t r = 0; r < runs.rows; ++r)
      body(runs.offset + r * runs.stride, r * runs.columns, runs.columns);
    return;
  }
  // Items are rows, or blocks if there is only one row.
  const int64_t items = runs.rows > 1 ? runs.rows : wanted;
  parallel(wanted, [&](int thread, int threads_there) {
    const Range mine = share(items, thread, threads_there);
    for (int64_t i = mine.begin; i < mine.end; ++i) {
      if (runs.rows > 1) {
        body(runs.offset + i * runs.stride, i * runs.columns, runs.columns);
        continue;
      }
      const int64_t begin = runs.columns * i / items,
                    end = runs.columns * (i + 1) / items;
      body(runs.offset + begin, begin, end - begin);
    }
  });
}

}  // namespace

Conversion::Conversion(mpc_dtype_t dtype)
    : loops_(best_loops(dtype)), element_(mpc_dtype_size(dtype)) {}

void Conversion::widen(const void* operand, const Part& part, float* to,
                       int threads) const {
  const char* from = static_cast<const char*>(operand);
  for_runs(part, threads, [&](int64_t at, int64_t dense, int64_t count) {
    loops_.widen(from + static_cast<size_t>(at) * element_, count, to + dense);
  });
}

void Conversion::round(const float* from, const Part& part, void* operand,
                       int threads) const {
  char* to = static_cast<char*>(operand);
  for_runs(part, threads, [&](int64_t at, int64_t dense, int64_t count) {
    loops_.round(from + dense, count, to + static_cast<size_t>(at) * element_);
  });
}

}  // namespace mpc::kernels::cpu
