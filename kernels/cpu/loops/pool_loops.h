// The loops of pooling. pool.cpp includes this once for each instruction set,
// inside a namespace, with MPC_VECTOR_WIDTH floats to a vector and, if
// MPC_VECTOR_F16 is 1, instructions that convert halves. It has no include
// guard.

#include "kernels/cpu/loops/lanes.h"

// As many lanes as a vector register holds.
struct Wide : Lanes {
  typedef int32_t I32 __attribute__((vector_size(4 * MPC_VECTOR_WIDTH)));
  typedef uint8_t U8 __attribute__((vector_size(MPC_VECTOR_WIDTH)));

  static MPC_INLINE void store(const F32& from, float* to) {
    std::memcpy(to, &from, sizeof from);
  }
  static MPC_INLINE void store(const F32& from, Bf16* to) {
    U32 bits;
    std::memcpy(&bits, &from, sizeof bits);
    const U32 rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    // As Bf16::round: a NaN stays a NaN.
    const U32 upper = from != from ? (bits >> 16 | 0x40) : rounded;
    const U16 half = __builtin_convertvector(upper, U16);
    std::memcpy(&to->bits, &half, sizeof half);
  }
  static MPC_INLINE void store(const F32& from, F16* to) {
#if MPC_VECTOR_F16 && MPC_VECTOR_WIDTH == 16
    __m512 wide;
    std::memcpy(&wide, &from, sizeof wide);
    const __m256i half =
        _mm512_maskz_cvtps_ph(0xffff, wide, _MM_FROUND_TO_NEAREST_INT);
    std::memcpy(&to->bits, &half, sizeof half);
#elif MPC_VECTOR_F16
    __m256 wide;
    std::memcpy(&wide, &from, sizeof wide);
    const __m128i half = _mm256_cvtps_ph(wide, _MM_FROUND_TO_NEAREST_INT);
    std::memcpy(&to->bits, &half, sizeof half);
#else
    for (int64_t i = 0; i < kWidth; ++i) to[i] = F16(from[i]);
#endif
  }
  static MPC_INLINE void store(const I32& from, uint8_t* to) {
    // Convert through 16 bits: GCC does not vectorize the conversion in one
    // step.
    const U16 half = __builtin_convertvector(from, U16);
    const U8 bytes = __builtin_convertvector(half, U8);
    std::memcpy(to, &bytes, sizeof bytes);
  }
  // Takes `value` where it is larger or NaN, unless `best` is NaN already.
  static MPC_INLINE void take_larger(const F32& value, int32_t position,
                                     F32* best, I32* where) {
    const I32 take = ~(value <= *best) & (*best == *best);
    *best = take ? value : *best;
    *where = take ? position - I32{} : *where;
  }
  static MPC_INLINE void add_where(const F32& value, const uint8_t* indices,
                                   int32_t position, F32* sum) {
    U8 bytes;
    std::memcpy(&bytes, indices, sizeof bytes);
    const U16 half = __builtin_convertvector(bytes, U16);
    const I32 where = __builtin_convertvector(half, I32);
    *sum += where == position ? value : F32{};
  }
};

// A single lane, with the interface of Wide.
struct Narrow {
  static constexpr int64_t kWidth = 1;
  using F32 = float;
  using I32 = int32_t;

  template <typename T>
  static MPC_INLINE void load(const T* from, float* to) {
    *to = float(*from);
  }
  template <typename T>
  static MPC_INLINE void store(float from, T* to) {
    *to = T(from);
  }
  static MPC_INLINE void store(int32_t from, uint8_t* to) {
    *to = static_cast<uint8_t>(from);
  }
  static MPC_INLINE void take_larger(float value, int32_t position, float* best,
                                     int32_t* where) {
    if (value <= *best || *best != *best) return;
    *best = value;
    *where = position;
  }
  static MPC_INLINE void add_where(float value, const uint8_t* indices,
                                   int32_t position, float* sum) {
    *sum += *indices == position ? value : 0.0f;
  }
};

// window_taps without its divisions in the usual case: they would take longer
// than the arithmetic.
MPC_INLINE Taps taps_at(const Planes& p, int dim, int64_t index) {
  if (p.window.dilations[dim] != 1)
    return window_taps(p.window, dim, p.input[dim], index);
  const int64_t start =
      index * p.window.strides[dim] - p.window.pads_begin[dim];
  return {start, std::max<int64_t>(0, -start),
          std::min(p.window.kernel[dim], p.input[dim] - start)};
}

// The windows that cover coordinate `i` of the input: [first, end) contains
// them all, but with a dilation some of these have a gap there.
struct Covering {
  int64_t first, end, offset, reach, stride, dilation, count;

  MPC_INLINE Covering(const Planes& p, int dim, int64_t i)
      : offset(i + p.window.pads_begin[dim]),
        reach(p.window.dilations[dim] * (p.window.kernel[dim] - 1)),
        stride(p.window.strides[dim]),
        dilation(p.window.dilations[dim]),
        count(p.output[dim]) {
    first = offset > reach ? (offset - reach + stride - 1) / stride : 0;
    end = std::min(count, offset / stride + 1);
  }
  // Advances to coordinate i + 1.
  MPC_INLINE void advance() {
    ++offset;
    if (first * stride + reach < offset) ++first;
    if (end < count && end * stride <= offset) ++end;
  }
  // The position in window `o` that lies on the coordinate, or -1.
  MPC_INLINE int64_t position(int64_t o) const {
    const int64_t distance = offset - o * stride;
    if (dilation == 1) return distance;
    return distance % dilation == 0 ? distance / dilation : -1;
  }
};

// Calls body.template at<Wide or Narrow, vectors>(lane) so that all lanes are
// covered, several vectors at a time to share the cost of finding the taps. The
// last vector overlaps the previous one, which is safe because lanes are
// computed from inputs only.
template <typename Body>
MPC_INLINE void for_lanes(int64_t lanes, const Body& body) {
  constexpr int64_t kWidth = Wide::kWidth;
  int64_t lane = 0;
  if (lanes < kWidth) {
    for (; lane < lanes; ++lane) body.template at<Narrow, 1>(lane);
    return;
  }
  for (; lane + 4 * kWidth <= lanes; lane += 4 * kWidth)
    body.template at<Wide, 4>(lane);
  if (lane + 2 * kWidth <= lanes) {
    body.template at<Wide, 2>(lane);
    lane += 2 * kWidth;
  }
  for (; lane < lanes; lane += kWidth)
    body.template at<Wide, 1>(std::min(lane, lanes - kWidth));
}

// The divisor of a mean.
MPC_INLINE float divisor(const Planes& p, int64_t rows, int64_t columns) {
  return p.count_include_pad
             ? static_cast<float>(p.window.kernel[0]) *
                   static_cast<float>(p.window.kernel[1])
             : static_cast<float>(rows) * static_cast<float>(columns);
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
  template <typename L, int kVectors>
  MPC_INLINE void at(int64_t lane) const {
    const Taps rows = this->rows, columns = this->columns;
    const int32_t width = static_cast<int32_t>(this->p.window.kernel[1]);
    const int32_t first = static_cast<int32_t>(rows.first) * width +
                          static_cast<int32_t>(columns.first);
    typename L::F32 best[kVectors], value;
    typename L::I32 where[kVectors];
    const T* from = this->tap(rows.first, columns.first, lane);
    for (int v = 0; v < kVectors; ++v) {
      L::load(from + v * L::kWidth, &best[v]);
      where[v] = first - typename L::I32{};
    }
    for (int64_t kh = rows.first; kh < rows.end; ++kh)
      for (int64_t kw = columns.first; kw < columns.end; ++kw) {
        from = this->tap(kh, kw, lane);
        const int32_t position =
            static_cast<int32_t>(kh) * width + static_cast<int32_t>(kw);
        for (int v = 0; v < kVectors; ++v) {
          L::load(from + v * L::kWidth, &value);
          L::take_larger(value, position, &best[v], &where[v]);
        }
      }
    for (int v = 0; v < kVectors; ++v) {
      L::store(best[v], this->result + lane + v * L::kWidth);
      L::store(where[v], this->indices + lane + v * L::kWidth);
    }
  }
};

template <typename T>
struct AveragePixel : ForwardPixel<T> {
  template <typename L, int kVectors>
  MPC_INLINE void at(int64_t lane) const {
    const Taps rows = this->rows, columns = this->columns;
    typename L::F32 sum[kVectors] = {}, value;
    for (int64_t kh = rows.first; kh < rows.end; ++kh)
      for (int64_t kw = columns.first; kw < columns.end; ++kw) {
        const T* from = this->tap(kh, kw, lane);
        for (int v = 0; v < kVectors; ++v) {
          L::load(from + v * L::kWidth, &value);
          sum[v] += value;
        }
      }
    const float by =
        divisor(this->p, rows.end - rows.first, columns.end - columns.first);
    for (int v = 0; v < kVectors; ++v)
      L::store(sum[v] / by, this->result + lane + v * L::kWidth);
  }
};

// One row of results.
template <typename T, template <typename> class Pixel>
struct ForwardRow {
  static MPC_INLINE void run(const Planes& p, Operands operands, int64_t row) {
    const int64_t plane = row / p.output[0], h = row % p.output[0];
    const T* image = static_cast<const T*>(operands[0]) +
                     plane * p.input[0] * p.input[1] * p.lanes;
    const int64_t offset = row * p.output[1] * p.lanes;
    T* result = static_cast<T*>(operands[1]) + offset;
    // average_pool has no third operand.
    uint8_t* indices = std::is_same_v<Pixel<T>, MaxPixel<T>>
                           ? static_cast<uint8_t*>(operands[2]) + offset
                           : nullptr;
    const Taps taps = taps_at(p, 0, h);
    for (int64_t w = 0; w < p.output[1]; ++w) {
      Pixel<T> pixel{{p, image, taps, taps_at(p, 1, w), result + w * p.lanes,
                      indices ? indices + w * p.lanes : nullptr}};
      for_lanes(p.lanes, pixel);
    }
  }
};

// One pixel of the gradient of the input: the contributions of the windows that
// cover it.
template <typename T, bool kMax>
struct GradPixel {
  const Planes& p;
  const T* grad;  // Gradient of this plane, as are the indices.
  const uint8_t* indices;
  Covering rows, columns;
  T* result;

  template <typename L, int kVectors>
  MPC_INLINE void add(int64_t oh, int64_t ow, int64_t position, int64_t lane,
                      typename L::F32* sum) const {
    const int64_t at = (oh * p.output[1] + ow) * p.lanes + lane;
    float by = 1;
    if (!kMax) {
      const Taps down = taps_at(p, 0, oh), right = taps_at(p, 1, ow);
      by = divisor(p, down.end - down.first, right.end - right.first);
    }
    for (int v = 0; v < kVectors; ++v) {
      typename L::F32 value;
      L::load(grad + at + v * L::kWidth, &value);
      if (kMax)
        L::add_where(value, indices + at + v * L::kWidth,
                     static_cast<int32_t>(position), &sum[v]);
      else
        sum[v] += value / by;
    }
  }

  template <typename L, int kVectors>
  MPC_INLINE void at(int64_t lane) const {
    const Covering down = rows, right = columns;
    typename L::F32 sum[kVectors] = {};
    for (int64_t oh = down.first; oh < down.end; ++oh) {
      const int64_t kh = down.position(oh);
      if (kh < 0) continue;
      for (int64_t ow = right.first; ow < right.end; ++ow) {
        const int64_t kw = right.position(ow);
        if (kw >= 0)
          add<L, kVectors>(oh, ow, kh * p.window.kernel[1] + kw, lane, sum);
      }
    }
    for (int v = 0; v < kVectors; ++v)
      L::store(sum[v], result + lane + v * L::kWidth);
  }
};

// One row of the gradient of the input.
template <typename T, bool kMax>
struct GradRow {
  static MPC_INLINE void run(const Planes& p, Operands operands, int64_t row) {
    const int64_t plane = row / p.input[0], h = row % p.input[0];
    const int64_t offset = plane * p.output[0] * p.output[1] * p.lanes;
    const T* grad = static_cast<const T*>(operands[0]) + offset;
    const uint8_t* indices =
        kMax ? static_cast<const uint8_t*>(operands[1]) + offset : nullptr;
    T* result =
        static_cast<T*>(operands[kMax ? 2 : 1]) + row * p.input[1] * p.lanes;
    GradPixel<T, kMax> pixel{
        p, grad, indices, Covering(p, 0, h), Covering(p, 1, 0), result};
    for (int64_t w = 0; w < p.input[1]; ++w) {
      for_lanes(p.lanes, pixel);
      pixel.columns.advance();
      pixel.result += p.lanes;
    }
  }
};

template <typename Row>
void run_rows(const Planes& p, Operands operands, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) Row::run(p, operands, row);
}

// The function of a kernel for operands of type T.
template <typename T>
RowsFunction rows_function(KernelId id) {
  switch (id) {
    case KernelId::max_pool:
      return run_rows<ForwardRow<T, MaxPixel>>;
    case KernelId::max_pool_grad:
      return run_rows<GradRow<T, true>>;
    case KernelId::average_pool:
      return run_rows<ForwardRow<T, AveragePixel>>;
    default:
      return run_rows<GradRow<T, false>>;
  }
}
