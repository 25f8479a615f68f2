// The 16-bit float types: conversions to and from f32, rounding to nearest
// even, without a library or CPU features.

#ifndef MPC_KERNELS_FLOAT_TYPES_H_
#define MPC_KERNELS_FLOAT_TYPES_H_

#include <cstdint>
#include <cstring>

// Also used in device code.
#ifdef __CUDACC__
#define MPC_HOST_DEVICE __host__ __device__
#else
#define MPC_HOST_DEVICE
#endif

namespace mpc::kernels {

MPC_HOST_DEVICE inline uint32_t float_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

MPC_HOST_DEVICE inline float bits_float(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// The upper half of an f32.
struct Bf16 {
  uint16_t bits = 0;

  Bf16() = default;
  MPC_HOST_DEVICE Bf16(float value) : bits(round(value)) {}
  MPC_HOST_DEVICE operator float() const {
    return bits_float(uint32_t{bits} << 16);
  }

  MPC_HOST_DEVICE static uint16_t round(float value) {
    const uint32_t from = float_bits(value);
    // Adding the rounding term could carry a NaN's payload into infinity.
    if (value != value) return static_cast<uint16_t>(from >> 16 | 0x40);
    return static_cast<uint16_t>((from + 0x7fff + (from >> 16 & 1)) >> 16);
  }
};

// IEEE 754 binary16.
struct F16 {
  uint16_t bits = 0;

  F16() = default;
  MPC_HOST_DEVICE F16(float value) : bits(round(value)) {}
  MPC_HOST_DEVICE operator float() const { return widen(bits); }

  MPC_HOST_DEVICE static uint16_t round(float value) {
#ifdef __CUDA_ARCH__
    // The same, except that every NaN becomes the canonical NaN.
    uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
#else
    const uint32_t from = float_bits(value);
    const uint32_t sign = from >> 16 & 0x8000;
    const uint32_t magnitude = from & 0x7fffffff;
    uint32_t to;
    if (magnitude > 0x7f800000) {  // NaN stays NaN and becomes quiet.
      to = 0x7e00 | (magnitude >> 13 & 0x3ff);
    } else if (magnitude >= 0x477ff000) {  // 65520 and more round to infinity.
      to = 0x7c00;
    } else if (magnitude >=
               0x38800000) {  // Normal: rebias, round, maybe carry.
      const uint32_t rebiased = magnitude - 0x38000000;
      to = (rebiased + 0xfff + (rebiased >> 13 & 1)) >> 13;
    } else {
      // Subnormal: one f32 addition rounds to a multiple of 2^-24.
      to = float_bits(bits_float(magnitude) + 0.5f) - float_bits(0.5f);
    }
    return static_cast<uint16_t>(sign | to);
#endif
  }

  MPC_HOST_DEVICE static float widen(uint16_t from) {
#ifdef __CUDA_ARCH__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(from));
    return value;
#else
    const uint32_t sign = uint32_t{from & 0x8000u} << 16;
    const uint32_t exponent = from >> 10 & 0x1f;
    const uint32_t fraction = from & 0x3ff;
    if (exponent == 0x1f) return bits_float(sign | 0x7f800000 | fraction << 13);
    if (exponent != 0)
      return bits_float(sign | ((exponent + 112) << 23 | fraction << 13));
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return bits_float(sign | float_bits(magnitude));
#endif
  }
};

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_FLOAT_TYPES_H_
