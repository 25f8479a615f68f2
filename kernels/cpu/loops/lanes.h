// Vectors of floats and their loads. Loops include this once for each
// instruction set, inside a namespace, with MPC_VECTOR_WIDTH floats to a vector
// and, if MPC_VECTOR_F16 is 1, instructions that convert halves. It has no
// include guard and includes nothing.

// Vectors are passed by address, because the calling convention for vectors
// depends on the instruction set.
struct Lanes {
  static constexpr int64_t kWidth = MPC_VECTOR_WIDTH;
  typedef float F32 __attribute__((vector_size(4 * MPC_VECTOR_WIDTH)));
  typedef uint32_t U32 __attribute__((vector_size(4 * MPC_VECTOR_WIDTH)));
  typedef uint64_t U64 __attribute__((vector_size(4 * MPC_VECTOR_WIDTH)));
  typedef uint16_t U16 __attribute__((vector_size(2 * MPC_VECTOR_WIDTH)));

  static MPC_INLINE void load(const float* from, F32* to) {
    std::memcpy(to, from, sizeof *to);
  }
  static MPC_INLINE void load(const Bf16* from, F32* to) {
    U16 half;
    std::memcpy(&half, from, sizeof half);
    const U32 bits = __builtin_convertvector(half, U32) << 16;
    std::memcpy(to, &bits, sizeof bits);
  }
  static MPC_INLINE void load(const F16* from, F32* to) {
#if MPC_VECTOR_F16 && MPC_VECTOR_WIDTH == 16
    __m256i half;
    std::memcpy(&half, from, sizeof half);
    const __m512 wide = _mm512_maskz_cvtph_ps(0xffff, half);
    std::memcpy(to, &wide, sizeof wide);
#elif MPC_VECTOR_F16
    __m128i half;
    std::memcpy(&half, from, sizeof half);
    const __m256 wide = _mm256_cvtph_ps(half);
    std::memcpy(to, &wide, sizeof wide);
#else
    F32 wide = {};
    for (int64_t i = 0; i < kWidth; ++i) wide[i] = from[i];
    *to = wide;
#endif
  }

  // The products of the lower halves of 64-bit lanes.
  static MPC_INLINE void multiply_low(U64* value, uint32_t factor) {
#if defined(__x86_64__) && MPC_VECTOR_WIDTH == 16
    __m512i lanes;
    std::memcpy(&lanes, value, sizeof lanes);
    lanes = _mm512_maskz_mul_epu32(0xff, lanes, _mm512_set1_epi64(factor));
    std::memcpy(value, &lanes, sizeof lanes);
#elif defined(__x86_64__) && MPC_VECTOR_WIDTH == 8
    __m256i lanes;
    std::memcpy(&lanes, value, sizeof lanes);
    lanes = _mm256_mul_epu32(lanes, _mm256_set1_epi64x(factor));
    std::memcpy(value, &lanes, sizeof lanes);
#else
    *value = (*value & 0xffffffffu) * factor;
#endif
  }

  // Loads the first `count` lanes, at most all, and zeros.
  static MPC_INLINE void load_first(const float* from, int64_t count, F32* to) {
#if MPC_VECTOR_WIDTH == 16
    const auto some = static_cast<__mmask16>((1u << count) - 1);
    const __m512 lanes = _mm512_maskz_loadu_ps(some, from);
    std::memcpy(to, &lanes, sizeof lanes);
#else
    load_some(from, count, to);
#endif
  }
  template <typename T>
  static MPC_INLINE void load_first(const T* from, int64_t count, F32* to) {
    load_some(from, count, to);
  }

 private:
  template <typename T>
  static MPC_INLINE void load_some(const T* from, int64_t count, F32* to) {
    T some[kWidth] = {};
    std::memcpy(some, from, static_cast<size_t>(count) * sizeof(T));
    load(some, to);
  }
};
