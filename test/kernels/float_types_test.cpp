#include "kernels/float_types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace mpc::kernels {
namespace {

// Finds the nearest number of a 16-bit format by search: `widen` maps the bits
// of non-negative numbers to values in ascending order.
template <typename Widen>
uint16_t nearest(double value, uint16_t infinity, Widen widen) {
  uint16_t low = 0, high = infinity;  // widen(low) <= value < widen(high)
  while (high - low > 1) {
    const uint16_t middle = static_cast<uint16_t>((low + high) / 2);
    (widen(middle) <= value ? low : high) = middle;
  }
  // For rounding, infinity counts as the next number.
  const double above =
      high == infinity ? 2 * widen(low) - widen(low - 1) : widen(high);
  const double down = value - widen(low), up = above - value;
  if (down != up) return down < up ? low : high;
  return low % 2 == 0 ? low : high;
}

double bf16_value(uint16_t bits) { return bits_float(uint32_t{bits} << 16); }

double f16_value(uint16_t bits) {
  const int exponent = bits >> 10, fraction = bits & 0x3ff;
  return exponent == 0 ? std::ldexp(fraction, -24)
                       : std::ldexp(1024 + fraction, exponent - 25);
}

// Floats of every exponent, with fractions around the rounding points.
template <typename Check>
void for_floats(Check check) {
  uint32_t random = 1;
  for (uint32_t exponent = 0; exponent < 255; ++exponent)
    for (int i = 0; i < 400; ++i) {
      random = random * 1664525 + 1013904223;
      uint32_t fraction = random >> 9;
      if (i % 4 == 0) fraction &= 0x7fe000;  // Exact in f16.
      if (i % 4 == 1) fraction = (fraction & 0x7fe000) | 0x1000;  // Tie.
      if (i % 4 == 2) fraction = (fraction & 0x7f0000) | 0x8000;  // bf16 tie.
      check(bits_float(exponent << 23 | fraction));
    }
}

TEST(FloatTypes, Bf16RoundsToNearestEven) {
  for_floats([](float value) {
    ASSERT_EQ(Bf16(value).bits, nearest(value, 0x7f80, bf16_value)) << value;
    ASSERT_EQ(Bf16(-value).bits, Bf16(value).bits | 0x8000) << value;
  });
}

TEST(FloatTypes, F16RoundsToNearestEven) {
  for_floats([](float value) {
    ASSERT_EQ(F16(value).bits,
              nearest(std::min(value, 1e6f), 0x7c00, f16_value))
        << value;
    ASSERT_EQ(F16(-value).bits, F16(value).bits | 0x8000) << value;
  });
}

TEST(FloatTypes, WideningIsExactAndComesBack) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    F16 half;
    half.bits = static_cast<uint16_t>(bits);
    ASSERT_EQ(double{float(half)}, f16_value(half.bits)) << bits;
    ASSERT_EQ(F16(float(half)).bits, bits);
  }
  for (uint32_t bits = 0; bits < 0x7f80; ++bits) {
    Bf16 half;
    half.bits = static_cast<uint16_t>(bits);
    ASSERT_EQ(Bf16(float(half)).bits, bits);
  }
}

TEST(FloatTypes, PreserveInfinityAndNan) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(float(Bf16(infinity)), infinity);
  EXPECT_EQ(float(F16(-infinity)), -infinity);
  EXPECT_EQ(float(F16(65504.0f)), 65504.0f);
  EXPECT_EQ(float(F16(65519.0f)), 65504.0f);
  EXPECT_EQ(float(F16(65520.0f)), infinity);
  for (uint32_t payload :
       {0x7f800001u, 0x7fffffffu, 0xffc00000u, 0xff80ffffu}) {
    EXPECT_TRUE(std::isnan(float(Bf16(bits_float(payload))))) << payload;
    EXPECT_TRUE(std::isnan(float(F16(bits_float(payload))))) << payload;
  }
}

}  // namespace
}  // namespace mpc::kernels
