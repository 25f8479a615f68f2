// Vectorized conversion of rows of floats to and from f32, with the same values
// as kernels/float_types.h.

#ifndef MPC_KERNELS_CPU_WIDENED_CONVERSION_H_
#define MPC_KERNELS_CPU_WIDENED_CONVERSION_H_

#include <cstddef>
#include <cstdint>

#include "mpc/dtype.h"

namespace mpc::kernels::cpu {

// The loops for one type. Memory must not overlap.
struct ConversionLoops {
  void (*widen)(const void* from, int64_t count, float* to);
  void (*round)(const float* from, int64_t count, void* to);
  // to[i] += from[i]
  void (*add)(const void* from, int64_t count, float* to);
};

// A rectangle in an operand, in elements.
struct Part {
  int64_t offset = 0, rows = 1, columns = 0, stride = 0;

  static Part flat(int64_t offset, int64_t count) {
    return {offset, 1, count, count};
  }
  int64_t count() const { return rows * columns; }
};

// Conversion between f32 and a type: bf16, f16 or f32 itself, which is copied.
class Conversion {
 public:
  explicit Conversion(mpc_dtype_t dtype);

  // Converts a part of `operand` to dense f32, on up to `threads` threads.
  void widen(const void* operand, const Part& part, float* to,
             int threads = 1) const;
  // The reverse conversion.
  void round(const float* from, const Part& part, void* operand,
             int threads = 1) const;
  const ConversionLoops& loops() const { return loops_; }

 private:
  ConversionLoops loops_;
  size_t element_;
};

}  // namespace mpc::kernels::cpu

#endif  // MPC_KERNELS_CPU_WIDENED_CONVERSION_H_
