// Conversions of rows compared bit by bit with conversions of single numbers
// (float_types_test.cpp), with the vector instructions of this CPU.

#include "kernels/cpu/widened/conversion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/float_types.h"

namespace mpc::kernels::cpu {
namespace {

// Every exponent with fractions near rounding boundaries, both signs, subnormal
// numbers, infinities.
std::vector<float> floats() {
  std::vector<float> values;
  uint32_t random = 1;
  for (uint32_t exponent = 0; exponent < 255; ++exponent)
    for (uint32_t i = 0; i < 64; ++i) {
      random = random * 1664525 + 1013904223;
      uint32_t fraction = random >> 9;
      if (i % 4 == 0) fraction &= 0x7fe000;
      if (i % 4 == 1) fraction = (fraction & 0x7fe000) | 0x1000;
      if (i % 4 == 2) fraction = (fraction & 0x7f0000) | 0x8000;
      values.push_back(
          bits_float((random & 1) << 31 | exponent << 23 | fraction));
    }
  values.push_back(std::numeric_limits<float>::infinity());
  values.push_back(-std::numeric_limits<float>::infinity());
  return values;
}

bool same(float a, float b) {
  return float_bits(a) == float_bits(b) || (std::isnan(a) && std::isnan(b));
}

template <typename T>
void expect_every_number_widens(mpc_dtype_t dtype) {
  std::vector<uint16_t> bits(1 << 16);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  std::vector<float> wide(bits.size()), sums(bits.size(), 1.0f);
  const int64_t count = static_cast<int64_t>(bits.size());
  const Conversion conversion(dtype);
  conversion.widen(bits.data(), Part::flat(0, count), wide.data());
  conversion.loops().add(bits.data(), count, sums.data());
  for (size_t i = 0; i < bits.size(); ++i) {
    T value;
    value.bits = bits[i];
    ASSERT_TRUE(same(wide[i], value)) << i;
    ASSERT_TRUE(same(sums[i], 1.0f + value)) << i;
  }
}

TEST(Conversion, EveryNumberWidens) {
  expect_every_number_widens<Bf16>(MPC_DTYPE_BF16);
  expect_every_number_widens<F16>(MPC_DTYPE_F16);
}

template <typename T>
void expect_nearest(mpc_dtype_t dtype) {
  const std::vector<float> values = floats();
  std::vector<uint16_t> rounded(values.size());
  const Part all = Part::flat(0, static_cast<int64_t>(values.size()));
  Conversion(dtype).round(values.data(), all, rounded.data());
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(rounded[i], T::round(values[i])) << values[i];
}

TEST(Conversion, RoundsToNearestEven) {
  expect_nearest<Bf16>(MPC_DTYPE_BF16);
  expect_nearest<F16>(MPC_DTYPE_F16);
}

TEST(Conversion, NanStaysNan) {
  // The payload's upper bits alone would be infinity.
  const std::vector<float> nans(37, bits_float(0xff800001));
  for (mpc_dtype_t dtype : {MPC_DTYPE_BF16, MPC_DTYPE_F16}) {
    std::vector<uint16_t> rounded(nans.size());
    std::vector<float> wide(nans.size());
    const Conversion conversion(dtype);
    conversion.round(nans.data(), Part::flat(0, 37), rounded.data());
    conversion.widen(rounded.data(), Part::flat(0, 37), wide.data());
    for (float value : wide) EXPECT_TRUE(std::isnan(value));
  }
}

// Rows of every length, with and without gaps; nothing in the gaps is written.
void expect_parts(mpc_dtype_t dtype, int64_t rows, int64_t columns,
                  int64_t stride, int threads) {
  const Part part = {3, rows, columns, stride};
  const size_t size = static_cast<size_t>(3 + rows * stride + 40);
  std::vector<float> dense(static_cast<size_t>(part.count()));
  for (size_t i = 0; i < dense.size(); ++i)
    dense[i] = static_cast<float>(i % 97) - 48.0f;  // Exact in 16 bits.
  std::vector<float> memory(size, 0.0f);
  const Conversion conversion(dtype);
  conversion.round(dense.data(), part, memory.data(), threads);
  std::vector<float> back(dense.size(), -1.0f);
  conversion.widen(memory.data(), part, back.data(), threads);
  ASSERT_EQ(back, dense);

  const size_t element = mpc_dtype_size(dtype);
  const char* bytes = reinterpret_cast<const char*>(memory.data());
  for (size_t i = 0; i < size * sizeof(float); ++i) {
    const int64_t at = static_cast<int64_t>(i / element) - part.offset;
    if (at < 0 || at / stride >= rows || at % stride >= columns) {
      ASSERT_EQ(bytes[i], 0) << "byte " << i;
    }
  }
}

TEST(Conversion, ConvertsOnlyTheGivenPart) {
  for (mpc_dtype_t dtype : {MPC_DTYPE_F32, MPC_DTYPE_BF16, MPC_DTYPE_F16}) {
    for (int64_t columns = 1; columns <= 70; ++columns) {
      expect_parts(dtype, 3, columns, columns, 1);
      expect_parts(dtype, 3, columns, columns + 5, 1);
    }
    // Enough for several threads, by rows and in one.
    expect_parts(dtype, 301, 331, 400, 3);
    expect_parts(dtype, 301, 331, 331, 3);
  }
}

}  // namespace
}  // namespace mpc::kernels::cpu
