// The loops of depthwise.cpp, which includes this once for each instruction
// set, inside a namespace; see lanes.h. It has no include guard.

#include "kernels/cpu/loops/lanes.h"

// A single lane, with the interface of Lanes.
struct Lane {
  static constexpr int64_t kWidth = 1;
  using F32 = float;

  template <typename T>
  static MPC_INLINE void load(const T* from, float* to) {
    *to = float(*from);
  }
};

// Adds the contribution of a row of the gradient to kTaps taps of one row of
// the window, for the channels from `lane` on. The sums of consecutive taps are
// `channels` elements apart.
template <typename T, typename L, int kTaps>
struct RowOfTaps {
  const Depthwise& d;
  const T* grad;   // The row, from `lane` on.
  const T* input;  // The row, likewise.
  int64_t first;   // First tap.
  float* sums;     // Sums of tap `first`, from `lane` on.

  MPC_INLINE int64_t column(int64_t out, int64_t tap) const {
    return out * d.window.strides[1] - d.window.pads_begin[1] +
           tap * d.window.dilations[1];
  }
  MPC_INLINE void run() const {
    typename L::F32 sum[kTaps];
    for (int tap = 0; tap < kTaps; ++tap)
      std::memcpy(&sum[tap], sums + tap * d.channels, sizeof sum[tap]);
    // No bounds checks are needed where all taps lie inside the row.
    int64_t begin = 0, end = d.output[1];
    while (begin < end && column(begin, first) < 0) ++begin;
    while (end > begin && column(end - 1, first + kTaps - 1) >= d.input[1])
      --end;
    for (int64_t out = 0; out < begin; ++out) add<true>(out, sum);
    for (int64_t out = begin; out < end; ++out) add<false>(out, sum);
    for (int64_t out = end; out < d.output[1]; ++out) add<true>(out, sum);
    for (int tap = 0; tap < kTaps; ++tap)
      std::memcpy(sums + tap * d.channels, &sum[tap], sizeof sum[tap]);
  }
  template <bool kLooks>
  MPC_INLINE void add(int64_t out, typename L::F32* sum) const {
    typename L::F32 factor, value;
    L::load(grad + out * d.channels, &factor);
    for (int tap = 0; tap < kTaps; ++tap) {
      const int64_t at = column(out, first + tap);
      if (kLooks && (at < 0 || at >= d.input[1])) continue;
      L::load(input + at * d.channels, &value);
      sum[tap] += factor * value;
    }
  }
};

// Adds to the taps of one row of the window from `first` on, as many at a time
// as fit in registers.
template <typename T, typename L>
MPC_INLINE void add_taps(const Depthwise& d, const T* grad, const T* input,
                         float* sums) {
  const int64_t width = d.window.kernel[1];
  int64_t tap = 0;
  const auto take = [&](auto count) __attribute__((always_inline)) {
    constexpr int kTaps = decltype(count)::value;
    RowOfTaps<T, L, kTaps>{d, grad, input, tap, sums + tap * d.channels}.run();
    tap += kTaps;
  };
  while (width - tap >= 7) take(std::integral_constant<int, 7>{});
  if (width - tap >= 5) take(std::integral_constant<int, 5>{});
  if (width - tap >= 3) take(std::integral_constant<int, 3>{});
  while (tap < width) take(std::integral_constant<int, 1>{});
}

// Adds the contribution of a row of the gradient and a row of the input, for
// all channels in turn, so that both are read sequentially.
template <typename T>
MPC_INLINE void add_rows(const Depthwise& d, const T* grad, const T* input,
                         float* sums) {
  int64_t lane = 0;
  for (; lane + Lanes::kWidth <= d.channels; lane += Lanes::kWidth)
    add_taps<T, Lanes>(d, grad + lane, input + lane, sums + lane);
  for (; lane < d.channels; ++lane)
    add_taps<T, Lane>(d, grad + lane, input + lane, sums + lane);
}

// The gradients of all taps, [taps, channels], of images [begin, end).
template <typename T>
void add_images(const Depthwise& d, const void* grads, const void* inputs,
                int64_t begin, int64_t end, float* sums) {
  const int64_t taps = d.window.kernel[0] * d.window.kernel[1];
  std::memset(sums, 0, sizeof(float) * static_cast<size_t>(taps * d.channels));
  for (int64_t out = begin * d.output[0]; out < end * d.output[0]; ++out) {
    const T* grad =
        static_cast<const T*>(grads) + out * d.output[1] * d.channels;
    const T* input = static_cast<const T*>(inputs) +
                     out / d.output[0] * d.input[0] * d.input[1] * d.channels;
    for (int64_t tap = 0; tap < d.window.kernel[0]; ++tap) {
      const int64_t row = out % d.output[0] * d.window.strides[0] -
                          d.window.pads_begin[0] + tap * d.window.dilations[0];
      if (row >= 0 && row < d.input[0])
        add_rows(d, grad, input + row * d.input[1] * d.channels,
                 sums + tap * d.window.kernel[1] * d.channels);
    }
  }
}
