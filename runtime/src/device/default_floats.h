// The floating-point mode in which results are computed.

#ifndef MPC_RUNTIME_SRC_DEVICE_DEFAULT_FLOATS_H_
#define MPC_RUNTIME_SRC_DEVICE_DEFAULT_FLOATS_H_

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace mpc::runtime {

// While in scope, sets the default floating-point mode: round to nearest, keep
// subnormals, no traps. Results must not depend on the mode of the caller's
// thread.
class DefaultFloats {
 public:
#if defined(__SSE2__)
  DefaultFloats() : saved_(_mm_getcsr()) {
    if ((saved_ & ~kFlags) != kDefault) _mm_setcsr(kDefault);
  }
  ~DefaultFloats() {
    if ((saved_ & ~kFlags) != kDefault) _mm_setcsr(saved_);
  }

 private:
  static constexpr unsigned kDefault = 0x1f80;  // All exceptions masked.
  static constexpr unsigned kFlags = 0x3f;      // Exceptions that occurred.
  unsigned saved_;
#endif
};

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_DEFAULT_FLOATS_H_
