// Pooling. Our own loops: oneDNN's max pooling passes over NaN (an overflow
// would vanish) and gives -FLT_MAX for a window of -inf, and its jit kernels
// know no dilation. What is computed is bound by memory, and each result is
// one thread's, so any number of threads gives the same bits.
//
// Channels lie side by side in channels-last images and are the lanes of the
// vectors. In the other layout each channel is an image with a single lane:
// right, and slower; the compiler turns images to channels last.

#include <cstring>

#include "kernels/cpu/cpu.h"
#include "kernels/float_types.h"

#define MPC_INLINE inline __attribute__((always_inline))

namespace mpc::kernels::cpu {
namespace {

constexpr double kElementsPerThread = 1 << 14;

// Images with `lanes` values side by side at each pixel.
struct Planes {
  int64_t count, lanes;
  std::array<int64_t, 2> input, output;
  Window window;
  bool count_include_pad;
};

// Operands as the catalog orders them.
using Operands = void* const*;

template <typename T>
MPC_INLINE float load(const T* from) {
  return *from;
}
template <>
MPC_INLINE float load(const Bf16* from) {
  return bits_float(uint32_t{from->bits} << 16);
}

MPC_INLINE void store(float value, float* to) { *to = value; }
MPC_INLINE void store(float value, Bf16* to) {
  // As Bf16::round, without a branch.
  const uint32_t from = float_bits(value);
  const uint32_t rounded = (from + 0x7fff + (from >> 16 & 1)) >> 16;
  to->bits = static_cast<uint16_t>(value != value ? (from >> 16 | 0x40)
                                                  : rounded);
}

// The windows that hold coordinate `i` of the input: [first, end) contains
// them all; with a dilation some of these have a gap there.
struct Covering {
  int64_t first, end, offset;
  int64_t stride, dilation;

  MPC_INLINE Covering(const Planes& p, int dim, int64_t i)
      : offset(i + p.window.pads_begin[dim]),
        stride(p.window.strides[dim]),
        dilation(p.window.dilations[dim]) {
    const int64_t reach = dilation * (p.window.kernel[dim] - 1);
    first = offset > reach ? (offset - reach + stride - 1) / stride : 0;
    end = std::min(p.output[dim], offset / stride + 1);
  }
  // Position in window `o` that lies on the coordinate, or -1.
  MPC_INLINE int64_t position(int64_t o) const {
    const int64_t distance = offset - o * stride;
    if (dilation == 1) return distance;
    return distance % dilation == 0 ? distance / dilation : -1;
  }
};

// Calls body.template at<Width>(lane) so that all lanes are covered. The last
// vector overlaps the one before: every lane is computed from inputs alone.
template <typename Body>
MPC_INLINE void for_lanes(int64_t lanes, const Body& body) {
  if (lanes >= 16) {
    for (int64_t lane = 0; lane < lanes; lane += 16)
      body.template at<16>(std::min(lane, lanes - 16));
  } else if (lanes >= 4) {
    for (int64_t lane = 0; lane < lanes; lane += 4)
      body.template at<4>(std::min(lane, lanes - 4));
  } else {
    for (int64_t lane = 0; lane < lanes; ++lane) body.template at<1>(lane);
  }
}

// What a mean divides by.
MPC_INLINE float divisor(const Planes& p, int64_t rows, int64_t columns) {
  return p.count_include_pad ? static_cast<float>(p.window.kernel[0]) *
                                   static_cast<float>(p.window.kernel[1])
                             : static_cast<float>(rows) *
                                   static_cast<float>(columns);
}

// One pixel of a result of a forward pooling.
template <typename T>
struct ForwardPixel {
  const Planes& p;
  const T* image;
  Taps rows, columns;
  T* result;
  uint8_t* indices;

  MPC_INLINE const T* tap(int64_t kh, int64_t kw, int64_t lane) const {
    const int64_t h = rows.start + kh * p.window.dilations[0];
    const int64_t w = columns.start + kw * p.window.dilations[1];
    return image + (h * p.input[1] + w) * p.lanes + lane;
  }
};

template <typename T>
struct MaxPixel : ForwardPixel<T> {
  template <int kWidth>
  MPC_INLINE void at(int64_t lane) const {
    float best[kWidth];
    int32_t where[kWidth];
    const int32_t width = static_cast<int32_t>(this->p.window.kernel[1]);
    int32_t position = static_cast<int32_t>(this->rows.first) * width +
                       static_cast<int32_t>(this->columns.first);
    const T* from = this->tap(this->rows.first, this->columns.first, lane);
#pragma omp simd
    for (int i = 0; i < kWidth; ++i) {
      best[i] = load(from + i);
      where[i] = position;
    }
    for (int64_t kh = this->rows.first; kh < this->rows.end; ++kh)
      for (int64_t kw = this->columns.first; kw < this->columns.end; ++kw) {
        from = this->tap(kh, kw, lane);
        position = static_cast<int32_t>(kh) * width + static_cast<int32_t>(kw);
#pragma omp simd
        for (int i = 0; i < kWidth; ++i) {
          const float value = load(from + i);
          // Larger or NaN, unless a NaN was found before.
          const bool take = !(value <= best[i]) & (best[i] == best[i]);
          best[i] = take ? value : best[i];
          where[i] = take ? position : where[i];
        }
      }
#pragma omp simd
    for (int i = 0; i < kWidth; ++i) {
      store(best[i], this->result + lane + i);
      this->indices[lane + i] = static_cast<uint8_t>(where[i]);
    }
  }
};

template <typename T>
struct AveragePixel : ForwardPixel<T> {
  template <int kWidth>
  MPC_INLINE void at(int64_t lane) const {
    float sum[kWidth] = {};
    for (int64_t kh = this->rows.first; kh < this->rows.end; ++kh)
      for (int64_t kw = this->columns.first; kw < this->columns.end; ++kw) {
        const T* from = this->tap(kh, kw, lane);
#pragma omp simd
        for (int i = 0; i < kWidth; ++i) sum[i] += load(from + i);
      }
    const float by = divisor(this->p, this->rows.end - this->rows.first,
                             this->columns.end - this->columns.first);
#pragma omp simd
    for (int i = 0; i < kWidth; ++i)
      store(sum[i] / by, this->result + lane + i);
  }
};

// One row of results.
template <typename T, template <typename> class Pixel>
struct ForwardRow {
  static int64_t rows(const Planes& p) { return p.count * p.output[0]; }

  static MPC_INLINE void run(const Planes& p, Operands operands, int64_t row) {
    const int64_t plane = row / p.output[0], h = row % p.output[0];
    const T* image = static_cast<const T*>(operands[0]) +
                     plane * p.input[0] * p.input[1] * p.lanes;
    const int64_t offset = row * p.output[1] * p.lanes;
    T* result = static_cast<T*>(operands[1]) + offset;
    // average_pool has no third operand.
    uint8_t* indices =
        std::is_same_v<Pixel<T>, MaxPixel<T>>
            ? static_cast<uint8_t*>(operands[2]) + offset
            : nullptr;
    const Taps taps = window_taps(p.window, 0, p.input[0], h);
    for (int64_t w = 0; w < p.output[1]; ++w) {
      Pixel<T> pixel{{p, image, taps,
                      window_taps(p.window, 1, p.input[1], w),
                      result + w * p.lanes,
                      indices ? indices + w * p.lanes : nullptr}};
      for_lanes(p.lanes, pixel);
    }
  }
};

// One pixel of the gradient of the input: what the windows that hold it give.
template <typename T, bool kMax>
struct GradPixel {
  const Planes& p;
  const T* grad;  // Of this plane, as are the indices.
  const uint8_t* indices;
  Covering rows, columns;
  T* result;

  template <int kWidth>
  MPC_INLINE void add(int64_t oh, int64_t ow, int64_t position, int64_t lane,
                      float* sum) const {
    const int64_t at = (oh * p.output[1] + ow) * p.lanes + lane;
    if (kMax) {
#pragma omp simd
      for (int i = 0; i < kWidth; ++i)
        sum[i] += indices[at + i] == position ? load(grad + at + i) : 0.0f;
      return;
    }
    const Taps down = window_taps(p.window, 0, p.input[0], oh);
    const Taps right = window_taps(p.window, 1, p.input[1], ow);
    const float by = divisor(p, down.end - down.first, right.end - right.first);
#pragma omp simd
    for (int i = 0; i < kWidth; ++i) sum[i] += load(grad + at + i) / by;
  }

  template <int kWidth>
  MPC_INLINE void at(int64_t lane) const {
    float sum[kWidth] = {};
    for (int64_t oh = rows.first; oh < rows.end; ++oh) {
      const int64_t kh = rows.position(oh);
      if (kh < 0) continue;
      for (int64_t ow = columns.first; ow < columns.end; ++ow) {
        const int64_t kw = columns.position(ow);
        if (kw >= 0)
          add<kWidth>(oh, ow, kh * p.window.kernel[1] + kw, lane, sum);
      }
    }
#pragma omp simd
    for (int i = 0; i < kWidth; ++i) store(sum[i], result + lane + i);
  }
};

// One row of the gradient of the input.
template <typename T, bool kMax>
struct GradRow {
  static int64_t rows(const Planes& p) { return p.count * p.input[0]; }

  static MPC_INLINE void run(const Planes& p, Operands operands, int64_t row) {
    const int64_t plane = row / p.input[0], h = row % p.input[0];
    const int64_t offset = plane * p.output[0] * p.output[1] * p.lanes;
    const T* grad = static_cast<const T*>(operands[0]) + offset;
    const uint8_t* indices =
        kMax ? static_cast<const uint8_t*>(operands[1]) + offset : nullptr;
    T* result = static_cast<T*>(operands[kMax ? 2 : 1]) +
                row * p.input[1] * p.lanes;
    const Covering covering(p, 0, h);
    for (int64_t w = 0; w < p.input[1]; ++w) {
      const GradPixel<T, kMax> pixel{p,        grad,
                                     indices,  covering,
                                     Covering(p, 1, w), result + w * p.lanes};
      for_lanes(p.lanes, pixel);
    }
  }
};

// The same loop for each instruction set.
using RowsFunction = void (*)(const Planes&, Operands, int64_t, int64_t);

template <typename Row>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma"))) void
rows_avx512(const Planes& p, Operands operands, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) Row::run(p, operands, row);
}

template <typename Row>
__attribute__((target("avx2,fma"))) void rows_avx2(const Planes& p,
                                                   Operands operands,
                                                   int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) Row::run(p, operands, row);
}

template <typename Row>
void rows_baseline(const Planes& p, Operands operands, int64_t begin,
                   int64_t end) {
  for (int64_t row = begin; row < end; ++row) Row::run(p, operands, row);
}

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
    if (threads_ == 1) {
      function_(planes_, operands, 0, rows_);
      return true;
    }
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (int i = 0; i < threads_; ++i)
      function_(planes_, operands, rows_ * i / threads_,
                rows_ * (i + 1) / threads_);
    return true;
  }

 private:
  Planes planes_;
  int64_t rows_;
  int threads_;
  RowsFunction function_;
  const char* name_;
};

template <typename Row>
std::unique_ptr<Kernel> make_rows(const Planes& p, const Context& context) {
  const int64_t rows = Row::rows(p);
  const double elements = static_cast<double>(p.count) * p.lanes *
                          std::max(p.input[0] * p.input[1],
                                   p.output[0] * p.output[1]);
  const int threads = std::min<int64_t>(
      rows, threads_for(elements, kElementsPerThread, context.threads));
  RowsFunction function = rows_baseline<Row>;
  const char* name = "pool:baseline";
  if (__builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    function = rows_avx512<Row>;
    name = "pool:avx512";
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    function = rows_avx2<Row>;
    name = "pool:avx2";
  }
  return std::make_unique<PoolKernel>(p, rows, threads, function, name);
}

template <typename T>
std::unique_ptr<Kernel> make_typed(KernelId id, const Planes& p,
                                   const Context& context) {
  switch (id) {
    case KernelId::max_pool:
      return make_rows<ForwardRow<T, MaxPixel>>(p, context);
    case KernelId::max_pool_grad:
      return make_rows<GradRow<T, true>>(p, context);
    case KernelId::average_pool:
      return make_rows<ForwardRow<T, AveragePixel>>(p, context);
    default:
      return make_rows<GradRow<T, false>>(p, context);
  }
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
  return s.dtype == MPC_DTYPE_BF16 ? make_typed<Bf16>(id, planes, context)
                                   : make_typed<float>(id, planes, context);
}

}  // namespace mpc::kernels::cpu
