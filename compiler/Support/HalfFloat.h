//===- HalfFloat.h - Conversions of 16-bit floats ---------------*- C++ -*-===//
//
// Weights are converted by the million; APFloat would be too slow.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_SUPPORT_HALFFLOAT_H
#define MPC_COMPILER_SUPPORT_HALFFLOAT_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace mpc {

inline float floatFromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline uint32_t floatToBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline float bfloatToFloat(uint16_t bits) {
  return floatFromBits(uint32_t(bits) << 16);
}

/// Rounds to nearest, ties to even; NaN stays NaN.
inline uint16_t floatToBfloat(float value) {
  uint32_t bits = floatToBits(value);
  if (std::isnan(value))
    return uint16_t(bits >> 16) | 0x40;
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

inline float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 0x1f) // Infinity and NaN.
    return floatFromBits(sign | 0x7f800000 | fraction << 13);
  if (exponent != 0)
    return floatFromBits(sign | (exponent + 112) << 23 | fraction << 13);
  float magnitude = float(fraction) * 0x1p-24f; // Zero and subnormals: exact.
  return sign ? -magnitude : magnitude;
}

/// Rounds to nearest, ties to even; values out of range become infinity; NaN
/// stays NaN and keeps the bits that fit.
inline uint16_t floatToHalf(float value) {
  uint32_t bits = floatToBits(value);
  uint16_t sign = uint16_t(bits >> 16) & 0x8000;
  float magnitude = std::fabs(value);
  if (std::isnan(value))
    return sign | 0x7e00 | uint16_t((bits >> 13) & 0x1ff);
  if (magnitude >= 65520.0f) // Halfway to the first value out of range.
    return sign | 0x7c00;
  if (magnitude < 0x1p-14f)
    return sign | uint16_t(std::nearbyint(magnitude * 0x1p24f));
  uint32_t rounded = (bits & 0x7fffffff) + 0xfff + ((bits >> 13) & 1);
  return sign | uint16_t((rounded - (112u << 23)) >> 13);
}

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_HALFFLOAT_H
