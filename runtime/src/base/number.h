// Checked arithmetic, 16-bit floats, checksums.

#ifndef MPC_RUNTIME_SRC_BASE_NUMBER_H_
#define MPC_RUNTIME_SRC_BASE_NUMBER_H_

#include <cstddef>
#include <cstdint>

#include "mpc/dtype.h"

namespace mpc::runtime {

// Stores a + b or a * b; returns false if the result overflows.
inline bool add_sizes(uint64_t a, uint64_t b, uint64_t* sum) {
  return !__builtin_add_overflow(a, b, sum);
}
inline bool multiply_sizes(uint64_t a, uint64_t b, uint64_t* product) {
  return !__builtin_mul_overflow(a, b, product);
}

// Product of the extents. Returns false if one is negative, or if the product
// of the nonzero ones exceeds 2^62.
bool count_elements(const int64_t* shape, size_t rank, uint64_t* count);

// Rounds to nearest, ties to even; overflow becomes infinity, NaN stays NaN.
uint16_t bf16_from_f32(float value);
uint16_t f16_from_f32(float value);
float f32_from_bf16(uint16_t bits);
float f32_from_f16(uint16_t bits);

// Rounds `count` elements of f32 or f64 to bf16 or f16. Returns false for any
// other pair of types.
bool round_elements(mpc_dtype_t from, const void* source, mpc_dtype_t to,
                    void* target, size_t count);

// Position of the first element that is NaN or (if `infinities`) infinite, or
// `count` if there is none. Always `count` for types that are not floats.
size_t find_non_finite(mpc_dtype_t dtype, const void* data, size_t count,
                       bool infinities);

// XXH3, 64 bits, seed 0.
uint64_t checksum(const void* data, size_t size);

// Whether the bytes are UTF-8 as defined by RFC 3629: no overlong forms, no
// surrogates, nothing above U+10FFFF.
bool is_utf8(const char* text, size_t size);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_BASE_NUMBER_H_
