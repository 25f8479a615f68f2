// Pooling. oneDNN is not used because its max pooling ignores NaN (an overflow
// would go unnoticed) and returns -FLT_MAX for a window of -inf, and its jit
// kernels do not support dilation. Pooling is memory-bound. Each result is
// computed by one thread, so any number of threads gives the same bits.
//
// Channels are contiguous in channels-last images and are the lanes of the
// vectors. In the other layout each channel is an image with a single lane,
// which is slower; the compiler converts images to channels last.

#include <cstring>
#include <type_traits>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/loops/target.h"
#include "kernels/float_types.h"

namespace mpc::kernels::cpu {
namespace {

constexpr double kElementsPerThread = 1 << 14;

// Images with `lanes` contiguous values at each pixel.
struct Planes {
  int64_t count, lanes;
  std::array<int64_t, 2> input, output;
  Window window;
  bool count_include_pad;
};

// Operands in the order of the catalog.
using Operands = void* const*;
// Computes the rows [begin, end) of the result.
using RowsFunction = void (*)(const Planes&, Operands, int64_t, int64_t);

#define MPC_LOOPS "kernels/cpu/loops/pool_loops.h"
#include "kernels/cpu/loops/each_isa.h"
#undef MPC_LOOPS

class PoolKernel final : public Kernel {
 public:
  PoolKernel(const Planes& planes, int64_t rows, int threads,
             RowsFunction function, const char* name)
      : planes_(planes),
        rows_(rows),
        threads_(threads),
        function_(function),
        name_(name) {}

  std::string implementation() const override { return name_; }
  bool run(Operands operands, void*) const override {
    parallel(threads_, [&](int part, int parts) {
      const Range mine = share(rows_, part, parts);
      function_(planes_, operands, mine.begin, mine.end);
    });
    return true;
  }

 private:
  Planes planes_;
  int64_t rows_;
  int threads_;
  RowsFunction function_;
  const char* name_;
};

// The loops for this CPU.
template <typename T>
RowsFunction best_function(KernelId id, const char** name) {
#ifdef __x86_64__
  if (has_avx512()) {
    *name = "pool:avx512";
    return avx512::rows_function<T>(id);
  }
  *name = "pool:avx2";
  return avx2::rows_function<T>(id);
#else
  *name = "pool:baseline";
  return baseline::rows_function<T>(id);
#endif
}

}  // namespace

std::unique_ptr<Kernel> make_pool(KernelId id, const PoolShape& s,
                                  const Context& context) {
  const Planes planes{s.channels_last ? s.batch : s.batch * s.channels,
                      s.channels_last ? s.channels : 1,
                      s.input,
                      s.output,
                      s.window,
                      s.count_include_pad};
  const bool forward = id == KernelId::max_pool || id == KernelId::average_pool;
  const int64_t rows =
      planes.count * (forward ? planes.output : planes.input)[0];
  const double elements =
      static_cast<double>(planes.count * planes.lanes) *
      static_cast<double>(
          std::max(s.input[0] * s.input[1], s.output[0] * s.output[1]));
  const int threads = static_cast<int>(std::min<int64_t>(
      rows, threads_for(elements, kElementsPerThread, context.threads)));
  const char* name;
  const RowsFunction function =
      s.dtype == MPC_DTYPE_BF16  ? best_function<Bf16>(id, &name)
      : s.dtype == MPC_DTYPE_F16 ? best_function<F16>(id, &name)
                                 : best_function<float>(id, &name);
  return std::make_unique<PoolKernel>(planes, rows, threads, function, name);
}

}  // namespace mpc::kernels::cpu
