// Statistics of a tensor, and the effect of rounding it, on several threads.
// The results do not depend on their number: counts do not depend on order, and
// sums are computed in fixed pieces.

#include <string>

#include "kernels/cpu/cpu.h"
#include "kernels/observation.h"

namespace mpc::kernels::cpu {
namespace {

constexpr double kElementsPerThread = 1 << 15;

template <typename T>
class ObserveKernel final : public Kernel {
 public:
  ObserveKernel(int64_t count, int threads)
      : count_(count), threads_(threads) {}

  std::string implementation() const override { return "observe:parts"; }
  size_t scratch_bytes() const override {
    return static_cast<size_t>(threads_) * sizeof(Observation<float>);
  }
  bool run(void* const* operands, void* scratch) const override {
    auto* found = static_cast<Observation<float>*>(scratch);
    const T* values = static_cast<const T*>(operands[0]);
    parallel(threads_, [&](int thread, int threads) {
      for (int part = thread; part < threads_; part += threads) {
        Observation<float> mine;
        const Range range = share(count_, part, threads_);
        for (int64_t i = range.begin; i < range.end; ++i)
          mine.add(static_cast<float>(values[i]), i);
        found[part] = mine;
      }
    });
    for (int part = 1; part < threads_; ++part) found[0].add(found[part]);
    found[0].write(static_cast<double*>(operands[1]));
    return true;
  }

 private:
  int64_t count_;
  int threads_;
};

template <typename T, typename G>
class RoundingKernel final : public Kernel {
 public:
  RoundingKernel(int64_t count, int threads)
      : count_(count),
        pieces_((count + kRoundingPiece - 1) / kRoundingPiece),
        threads_(static_cast<int>(std::min<int64_t>(threads, pieces_))) {}

  std::string implementation() const override { return "rounding:pieces"; }
  size_t scratch_bytes() const override {
    return static_cast<size_t>(pieces_) * sizeof(RoundingSums);
  }
  bool run(void* const* operands, void* scratch) const override {
    auto* sums = static_cast<RoundingSums*>(scratch);
    parallel(threads_, [&](int thread, int threads) {
      for (int64_t piece = thread; piece < pieces_; piece += threads)
        sums[piece] = round_piece(
            static_cast<const T*>(operands[0]),
            static_cast<const G*>(operands[1]), piece * kRoundingPiece,
            std::min((piece + 1) * kRoundingPiece, count_));
    });
    RoundingSums all;
    for (int64_t piece = 0; piece < pieces_; ++piece) all.add(sums[piece]);
    all.write(static_cast<double*>(operands[2]));
    return true;
  }

 private:
  int64_t count_, pieces_;
  int threads_;
};

template <typename T>
std::unique_ptr<Kernel> make(KernelId id, const ObserveShape& shape,
                             int threads) {
  if (id == KernelId::observe)
    return std::make_unique<ObserveKernel<T>>(shape.count, threads);
  switch (shape.gradient_dtype) {
    case MPC_DTYPE_F64:
      return std::make_unique<RoundingKernel<T, double>>(shape.count, threads);
    case MPC_DTYPE_F16:
      return std::make_unique<RoundingKernel<T, F16>>(shape.count, threads);
    case MPC_DTYPE_BF16:
      return std::make_unique<RoundingKernel<T, Bf16>>(shape.count, threads);
    default:
      return std::make_unique<RoundingKernel<T, float>>(shape.count, threads);
  }
}

}  // namespace

std::unique_ptr<Kernel> make_observe(KernelId id, const ObserveShape& shape,
                                     const Context& context) {
  const int threads = threads_for(static_cast<double>(shape.count),
                                  kElementsPerThread, context.threads);
  if (shape.dtype == MPC_DTYPE_F16) return make<F16>(id, shape, threads);
  if (shape.dtype == MPC_DTYPE_BF16) return make<Bf16>(id, shape, threads);
  return make<float>(id, shape, threads);
}

}  // namespace mpc::kernels::cpu
