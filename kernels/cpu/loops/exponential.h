// The exponential function for loops that the compiler vectorizes. Loops
// include this once for each instruction set, inside a namespace, with
// MPC_INLINE. It has no include guard and includes nothing.

// e^x within 2 ulps, for x <= 0 (1 for larger x); 0 if the result is below the
// smallest normal number. n is x / ln 2 rounded, from the sum with 1.5 * 2^23,
// whose last bits are n. e^x = 2^n e^(x - n ln 2), with ln 2 in two parts, so
// that the product with the first is exact. The polynomial is that of Cephes'
// expf.
MPC_INLINE float exponential(float x) {
  constexpr float kShift = 12582912.0f;
  const float shifted = x * 1.44269504088896341f + kShift;
  const float n = shifted - kShift;
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  float y = 1.9875691500e-4f;
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * (r * r) + r + 1.0f;
  const uint32_t power = float_bits(shifted) - float_bits(kShift);
  y *= bits_float((power + 127) << 23);
  y = x < -87.3f ? 0.0f : y;
  // NaN passes both comparisons unchanged.
  return x > 0.0f ? 1.0f : y;
}
