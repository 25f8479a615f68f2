// The loops of conversion.cpp, which includes this once for each instruction
// set. MPC_F16_WIDTH is the number of halves per conversion instruction, or 0.
// It has no include guard and includes nothing.

struct F32Loops {
  using Stored = float;
  static float widen(float value) { return value; }
  static float round(float value) { return value; }
};

// Stored is the raw bits, because the vectorizer does not handle structs.
struct Bf16Loops {
  using Stored = uint16_t;
  static float widen(uint16_t bits) { return bits_float(uint32_t{bits} << 16); }
  static uint16_t round(float value) { return Bf16::round(value); }
};

template <typename T>
void widen_row(const void* from, int64_t count, float* to) {
  const auto* values = static_cast<const typename T::Stored*>(from);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = T::widen(values[i]);
}

template <typename T>
void round_row(const float* from, int64_t count, void* to) {
  auto* values = static_cast<typename T::Stored*>(to);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) values[i] = T::round(from[i]);
}

template <typename T>
void add_row(const void* from, int64_t count, float* to) {
  const auto* values = static_cast<const typename T::Stored*>(from);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] += T::widen(values[i]);
}

template <typename T>
ConversionLoops loops_of() {
  return {widen_row<T>, round_row<T>, add_row<T>};
}

#if MPC_F16_WIDTH == 16
inline __m512 load_halves(const uint16_t* from) {
  return _mm512_maskz_cvtph_ps(
      0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
inline void store_halves(__m512 value, uint16_t* to) {
  _mm256_storeu_si256(
      reinterpret_cast<__m256i*>(to),
      _mm512_maskz_cvtps_ph(0xffff, value,
                            _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
inline __m512 load_floats(const float* from) { return _mm512_loadu_ps(from); }
inline void store_floats(__m512 value, float* to) {
  _mm512_storeu_ps(to, value);
}
#elif MPC_F16_WIDTH == 8
inline __m256 load_halves(const uint16_t* from) {
  return _mm256_cvtph_ps(
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
inline void store_halves(__m256 value, uint16_t* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
}
inline __m256 load_floats(const float* from) { return _mm256_loadu_ps(from); }
inline void store_floats(__m256 value, float* to) {
  _mm256_storeu_ps(to, value);
}
#endif

// Whole vectors, then the remaining elements.
#if MPC_F16_WIDTH != 0
constexpr int64_t kHalves = MPC_F16_WIDTH;
#endif

inline void widen_f16(const void* from, int64_t count, float* to) {
  const auto* values = static_cast<const uint16_t*>(from);
  int64_t i = 0;
#if MPC_F16_WIDTH != 0
  for (; i + kHalves <= count; i += kHalves)
    store_floats(load_halves(values + i), to + i);
#endif
  for (; i < count; ++i) to[i] = F16::widen(values[i]);
}

inline void round_f16(const float* from, int64_t count, void* to) {
  auto* values = static_cast<uint16_t*>(to);
  int64_t i = 0;
#if MPC_F16_WIDTH != 0
  for (; i + kHalves <= count; i += kHalves)
    store_halves(load_floats(from + i), values + i);
#endif
  for (; i < count; ++i) values[i] = F16::round(from[i]);
}

inline void add_f16(const void* from, int64_t count, float* to) {
  const auto* values = static_cast<const uint16_t*>(from);
  int64_t i = 0;
#if MPC_F16_WIDTH != 0
  for (; i + kHalves <= count; i += kHalves)
    store_floats(load_floats(to + i) + load_halves(values + i), to + i);
#endif
  for (; i < count; ++i) to[i] += F16::widen(values[i]);
}

inline ConversionLoops loops(mpc_dtype_t dtype) {
  switch (dtype) {
    case MPC_DTYPE_BF16:
      return loops_of<Bf16Loops>();
    case MPC_DTYPE_F16:
      return {widen_f16, round_f16, add_f16};
    default:
      return loops_of<F32Loops>();
  }
}
