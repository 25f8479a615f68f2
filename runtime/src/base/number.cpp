#include "runtime/src/base/number.h"

#include <cmath>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace mpc::runtime {

bool count_elements(const int64_t* shape, size_t rank, uint64_t* count) {
  constexpr uint64_t kMax = uint64_t{1} << 62;
  uint64_t bound = 1;
  bool empty = false;
  for (size_t i = 0; i < rank; ++i) {
    if (shape[i] < 0) return false;
    if (shape[i] == 0) {
      empty = true;
      continue;
    }
    if (!multiply_sizes(bound, static_cast<uint64_t>(shape[i]), &bound) ||
        bound > kMax)
      return false;
  }
  *count = empty ? 0 : bound;
  return true;
}

static uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

static float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

uint16_t bf16_from_f32(float value) {
  uint32_t bits = bits_of(value);
  // Make NaNs quiet: truncated, a signaling NaN may become infinity.
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

uint16_t f16_from_f32(float value) {
  uint32_t bits = bits_of(value);
  uint32_t sign = (bits >> 16) & 0x8000u;
  uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    // Subnormal: adding 0.5 aligns the last bit of the f16 with the last bit of
    // the f32, so that the addition rounds.
    float aligned = float_of(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (bits_of(aligned) - 0x3f000000u));
  }
  uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

float f32_from_bf16(uint16_t bits) {
  return float_of(static_cast<uint32_t>(bits) << 16);
}

float f32_from_f16(uint16_t bits) {
  uint32_t sign = (bits & 0x8000u) << 16;
  uint32_t exponent = (bits >> 10) & 0x1fu;
  uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0) {
    float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  if (exponent == 31) return float_of(sign | 0x7f800000u | (fraction << 13));
  return float_of(sign | ((exponent + 112) << 23) | (fraction << 13));
}

// Converting f64 to a 16-bit type through f32 would round twice. Rounding the
// intermediate f32 to odd (its last bit records whether the conversion was
// inexact) makes the result correctly rounded.
static float narrow_to_odd(double value) {
  float narrow = static_cast<float>(value);
  if (!(std::fabs(value) < 0x1p128) || static_cast<double>(narrow) == value)
    return narrow;
  uint32_t bits = bits_of(narrow);
  // Step back to the value that truncation gives.
  if (std::fabs(static_cast<double>(narrow)) > std::fabs(value)) bits -= 1;
  return float_of(bits | 1u);
}

// The function is a template argument so that it is inlined and vectorized.
template <uint16_t (*narrow)(float)>
static bool round_with(mpc_dtype_t from, const void* source, uint16_t* out,
                       size_t count) {
  if (from == MPC_DTYPE_F32) {
    auto* in = static_cast<const float*>(source);
    for (size_t i = 0; i < count; ++i) out[i] = narrow(in[i]);
    return true;
  }
  if (from == MPC_DTYPE_F64) {
    auto* in = static_cast<const double*>(source);
    for (size_t i = 0; i < count; ++i) out[i] = narrow(narrow_to_odd(in[i]));
    return true;
  }
  return false;
}

bool round_elements(mpc_dtype_t from, const void* source, mpc_dtype_t to,
                    void* target, size_t count) {
  auto* out = static_cast<uint16_t*>(target);
  if (to == MPC_DTYPE_BF16)
    return round_with<bf16_from_f32>(from, source, out, count);
  if (to == MPC_DTYPE_F16)
    return round_with<f16_from_f32>(from, source, out, count);
  return false;
}

// `mask` selects the exponent bits: all ones mean infinity or NaN.
template <typename Bits>
static size_t find_bits(const void* data, size_t count, Bits mask, Bits sign,
                        bool infinities) {
  auto* bits = static_cast<const Bits*>(data);
  Bits limit = infinities ? mask : static_cast<Bits>(mask + 1);
  for (size_t i = 0; i < count; ++i)
    if (static_cast<Bits>(bits[i] & static_cast<Bits>(~sign)) >= limit)
      return i;
  return count;
}

size_t find_non_finite(mpc_dtype_t dtype, const void* data, size_t count,
                       bool infinities) {
  switch (dtype) {
    case MPC_DTYPE_F32:
      return find_bits<uint32_t>(data, count, 0x7f800000u, 0x80000000u,
                                 infinities);
    case MPC_DTYPE_F16:
      return find_bits<uint16_t>(data, count, 0x7c00u, 0x8000u, infinities);
    case MPC_DTYPE_BF16:
      return find_bits<uint16_t>(data, count, 0x7f80u, 0x8000u, infinities);
    case MPC_DTYPE_F64:
      return find_bits<uint64_t>(data, count, 0x7ff0000000000000u,
                                 0x8000000000000000u, infinities);
    default:
      return count;
  }
}

uint64_t checksum(const void* data, size_t size) {
  return XXH3_64bits(data, size);
}

bool is_utf8(const char* text, size_t size) {
  auto* bytes = reinterpret_cast<const unsigned char*>(text);
  for (size_t i = 0; i < size;) {
    unsigned char lead = bytes[i++];
    if (lead < 0x80) continue;
    size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4 || size - i < more) return false;
    // The first continuation byte excludes overlong forms and surrogates.
    unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (bytes[i] < low || bytes[i] > high) return false;
    for (size_t end = i + more; ++i < end;)
      if ((bytes[i] & 0xc0) != 0x80) return false;
  }
  return true;
}

}  // namespace mpc::runtime
