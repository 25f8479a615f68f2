// The computations of `observe` and `rounding` for each element, shared by host
// and device code.

#ifndef MPC_KERNELS_OBSERVATION_H_
#define MPC_KERNELS_OBSERVATION_H_

#include <cstdint>
#include <cstring>

#include "kernels/float_types.h"

namespace mpc::kernels {

inline constexpr int64_t kObservationWidth = 80;
inline constexpr int64_t kRoundingWidth = 8;

// The fields of a row of `observe`.
enum ObservationField : int64_t {
  kNans,
  kInfinities,
  kZeros,
  kFirstNonFinite,
  kLargest,
  kSmallest,
  kExponents = 8,
};
inline constexpr int kExponentCount = 64;
inline constexpr int kLeastExponent = -44;  // Exponent of the first count.

// floor(log2(size)) for a finite size above 0; at most -127 for a subnormal.
MPC_HOST_DEVICE inline int exponent_of(float size) {
  return static_cast<int>(float_bits(size) >> 23) - 127;
}
MPC_HOST_DEVICE inline int exponent_of(double size) {
  uint64_t bits;
  std::memcpy(&bits, &size, sizeof bits);
  return static_cast<int>(bits >> 52) - 1023;
}

// Observes a part of a tensor whose elements are counted as T, float or double.
template <typename T>
struct Observation {
  int64_t nans = 0, infinities = 0, zeros = 0;
  int64_t first = INT64_MAX;  // First that is not finite.
  T largest = 0, smallest = 0;
  int64_t exponents[kExponentCount] = {};

  MPC_HOST_DEVICE void add(T value, int64_t position) {
    const T size = value < 0 ? -value : value;
    if (!(size - size == 0)) {
      ++(value != value ? nans : infinities);
      if (position < first) first = position;
    } else if (size == 0) {
      ++zeros;
    } else {
      if (size > largest) largest = size;
      if (smallest == 0 || size < smallest) smallest = size;
      const int bin = exponent_of(size) - kLeastExponent;
      ++exponents[bin < 0                 ? 0
                  : bin >= kExponentCount ? kExponentCount - 1
                                          : bin];
    }
  }

  MPC_HOST_DEVICE void add(const Observation& other) {
    nans += other.nans;
    infinities += other.infinities;
    zeros += other.zeros;
    if (other.first < first) first = other.first;
    if (other.largest > largest) largest = other.largest;
    if (smallest == 0 || (other.smallest != 0 && other.smallest < smallest))
      smallest = other.smallest;
    for (int i = 0; i < kExponentCount; ++i) exponents[i] += other.exponents[i];
  }

  MPC_HOST_DEVICE void write(double* row) const {
    for (int64_t i = 0; i < kObservationWidth; ++i) row[i] = 0;
    row[kNans] = static_cast<double>(nans);
    row[kInfinities] = static_cast<double>(infinities);
    row[kZeros] = static_cast<double>(zeros);
    row[kFirstNonFinite] =
        first == INT64_MAX ? -1.0 : static_cast<double>(first);
    row[kLargest] = static_cast<double>(largest);
    row[kSmallest] = static_cast<double>(smallest);
    for (int i = 0; i < kExponentCount; ++i)
      row[kExponents + i] = static_cast<double>(exponents[i]);
  }
};

// Rounds `size` >= 0 to nearest even, saturating, in a format with the largest
// number `most`, `digits` binary digits, and subnormals below 2^least.
MPC_HOST_DEVICE inline float round_size(float size, float most, int digits,
                                        int least) {
  if (size >= most) return most;
  int exponent = exponent_of(size);
  if (exponent < least) exponent = least;
  // The distance between neighbouring numbers there, a power of two that f32
  // can represent. Multiplying by it is exact, and so is rounding to whole
  // numbers.
  const float unit =
      bits_float(static_cast<uint32_t>(exponent - digits + 1 + 127) << 23);
  const float inverse =
      bits_float(static_cast<uint32_t>(127 - (exponent - digits + 1)) << 23);
  const float whole = (size * inverse + 0x1p23f) - 0x1p23f;
  const float rounded = whole * unit;
  return rounded < most ? rounded : most;
}

// The formats to which q rounds, in the order of the sums:
// FORMAT(name, largest number, binary digits, exponent of the smallest normal
// number).
#define MPC_ROUNDING_FORMATS(FORMAT)   \
  FORMAT("bf16", 0x1.fep127f, 8, -126) \
  FORMAT("f16", 65504.0f, 11, -14)     \
  FORMAT("e4m3", 448.0f, 4, -6)

struct RoundingFormat {
  const char* name;
  float most;
  int digits, least;
};
inline constexpr RoundingFormat kRoundingFormats[] = {
#define MPC_ROUNDING_ROW(...) {__VA_ARGS__},
    MPC_ROUNDING_FORMATS(MPC_ROUNDING_ROW)
#undef MPC_ROUNDING_ROW
};
inline constexpr int kRoundingFormatCount =
    sizeof kRoundingFormats / sizeof kRoundingFormats[0];
static_assert(kRoundingFormatCount <= kRoundingWidth);

// The sums of gradient (q(value) - value).
struct RoundingSums {
  double sums[kRoundingFormatCount] = {};

  MPC_HOST_DEVICE void add(float value, float gradient) {
    if (!(value - value == 0) || !(gradient - gradient == 0)) return;
    const float size = value < 0 ? -value : value;
    const double slope = value < 0 ? -static_cast<double>(gradient)
                                   : static_cast<double>(gradient);
    // Below 2^-100 the rounding error of a format with the range of f32 is
    // negligible, and units would leave that range.
    int format = 0;
#define MPC_ROUND(name, most, digits, least)                         \
  if (size >= (least < -100 ? 0x1p-100f : 0.0f))                     \
    add(format, slope, round_size(size, most, digits, least), size); \
  ++format;
    MPC_ROUNDING_FORMATS(MPC_ROUND)
#undef MPC_ROUND
  }
  MPC_HOST_DEVICE void add(const RoundingSums& other) {
    for (int i = 0; i < kRoundingFormatCount; ++i) sums[i] += other.sums[i];
  }
  MPC_HOST_DEVICE void write(double* row) const {
    for (int64_t i = 0; i < kRoundingWidth; ++i)
      row[i] = i < kRoundingFormatCount ? sums[i] : 0;
  }

 private:
  MPC_HOST_DEVICE void add(int format, double slope, float to, float from) {
    sums[format] += slope * (static_cast<double>(to) - from);
  }
};

// Elements that are summed separately, so that sums do not depend on the number
// of threads.
inline constexpr int64_t kRoundingPiece = 1 << 16;

template <typename T, typename G>
RoundingSums round_piece(const T* values, const G* gradients, int64_t begin,
                         int64_t end) {
  RoundingSums sums;
  for (int64_t i = begin; i < end; ++i)
    sums.add(static_cast<float>(values[i]), static_cast<float>(gradients[i]));
  return sums;
}

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_OBSERVATION_H_
