// The weight gradient of a depthwise convolution, for windows wider than 3.
// oneDNN has no specialized kernel for these and uses its general one with one
// channel per group, which reaches 10 of 250 GFLOP/s (Zen 5).
//
// Channels are contiguous and are the lanes of the vectors. The taps of a row
// of the window stay in registers while a row of the image is processed. Images
// are cut into pieces that depend on the shape alone, and their sums are added
// in order, so any number of threads gives the same bits.

#include <cstring>
#include <type_traits>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "kernels/cpu/depthwise.h"
#include "kernels/cpu/loops/target.h"
#include "kernels/float_types.h"

namespace mpc::kernels::cpu {
namespace {

constexpr int64_t kMaxPieces = 16;
constexpr double kFlopsPerThread = 1 << 17;

struct Depthwise {
  int64_t channels;
  std::array<int64_t, 2> input, output;
  Window window;
};

// Sums over images [begin, end) of gradients and inputs.
using ImagesFunction = void (*)(const Depthwise&, const void*, const void*,
                                int64_t begin, int64_t end, float* sums);

#define MPC_LOOPS "kernels/cpu/loops/depthwise_loops.h"
#include "kernels/cpu/loops/each_isa.h"
#undef MPC_LOOPS

class DepthwiseKernel final : public Kernel {
 public:
  DepthwiseKernel(const Depthwise& shape, int64_t batch, int threads,
                  ImagesFunction function, const char* name)
      : shape_(shape),
        batch_(batch),
        pieces_(std::min(batch, kMaxPieces)),
        threads_(threads),
        function_(function),
        name_(name) {}

  std::string implementation() const override { return name_; }
  size_t scratch_bytes() const override {
    return sizeof(float) * static_cast<size_t>(pieces_ * elements());
  }
  bool run(void* const* operands, void* scratch) const override {
    float* sums = static_cast<float*>(scratch);
    parallel(threads_, [&](int part, int parts) {
      const Range mine = share(pieces_, part, parts);
      for (int64_t piece = mine.begin; piece < mine.end; ++piece)
        function_(shape_, operands[0], operands[1], batch_ * piece / pieces_,
                  batch_ * (piece + 1) / pieces_, sums + piece * elements());
    });
    add_pieces(sums, static_cast<float*>(operands[2]));
    return true;
  }

 private:
  int64_t taps() const {
    return shape_.window.kernel[0] * shape_.window.kernel[1];
  }
  int64_t elements() const { return taps() * shape_.channels; }
  // Adds the [taps, channels] sums of all pieces and transposes them to
  // [channels, taps].
  void add_pieces(const float* sums, float* result) const {
    for (int64_t channel = 0; channel < shape_.channels; ++channel)
      for (int64_t tap = 0; tap < taps(); ++tap) {
        float sum = 0;
        for (int64_t piece = 0; piece < pieces_; ++piece)
          sum += sums[piece * elements() + tap * shape_.channels + channel];
        result[channel * taps() + tap] = sum;
      }
  }

  Depthwise shape_;
  int64_t batch_, pieces_;
  int threads_;
  ImagesFunction function_;
  const char* name_;
};

// The loops for this CPU.
template <typename T>
ImagesFunction best_function(const char** name) {
#ifdef __x86_64__
  if (has_avx512()) {
    *name = "depthwise:avx512";
    return avx512::add_images<T>;
  }
  *name = "depthwise:avx2";
  return avx2::add_images<T>;
#else
  *name = "depthwise:baseline";
  return baseline::add_images<T>;
#endif
}

}  // namespace

bool is_wide_depthwise(KernelId id, const ConvShape& s) {
  return id == KernelId::conv_grad_weight && s.channels_last &&
         s.dtype != MPC_DTYPE_F64 && s.result_dtype == MPC_DTYPE_F32 &&
         s.group == s.input_channels && s.group == s.output_channels &&
         s.group > 1 && s.window.kernel[1] > 3;
}

std::unique_ptr<Kernel> make_depthwise_grad_weight(const ConvShape& s,
                                                   const Context& context) {
  const Depthwise shape{s.group, s.input, s.output, s.window};
  const double flops =
      2.0 * static_cast<double>(s.batch * s.output[0] * s.output[1]) *
      static_cast<double>(s.window.kernel[0] * s.window.kernel[1] * s.group);
  const int threads = threads_for(flops, kFlopsPerThread, context.threads);
  const char* name;
  const ImagesFunction function =
      s.dtype == MPC_DTYPE_BF16  ? best_function<Bf16>(&name)
      : s.dtype == MPC_DTYPE_F16 ? best_function<F16>(&name)
                                 : best_function<float>(&name);
  return std::make_unique<DepthwiseKernel>(shape, s.batch, threads, function,
                                           name);
}

}  // namespace mpc::kernels::cpu
