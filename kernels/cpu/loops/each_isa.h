// Includes MPC_LOOPS, the name of a file, once for each instruction set: in
// namespaces `baseline` and, on x86, `avx2` and `avx512`, with the macros that
// lanes.h needs. It has no include guard: include it inside a namespace of the
// file that uses the loops.

#define MPC_INLINE inline __attribute__((always_inline))

namespace baseline {
#define MPC_VECTOR_WIDTH 4
#define MPC_VECTOR_F16 0
#include MPC_LOOPS
#undef MPC_VECTOR_F16
#undef MPC_VECTOR_WIDTH
}  // namespace baseline

#ifdef __x86_64__
#define MPC_VECTOR_F16 1
MPC_BEGIN_TARGET(MPC_AVX2)
namespace avx2 {
#define MPC_VECTOR_WIDTH 8
#include MPC_LOOPS
#undef MPC_VECTOR_WIDTH
}  // namespace avx2
MPC_END_TARGET

MPC_BEGIN_TARGET(MPC_AVX512)
namespace avx512 {
#define MPC_VECTOR_WIDTH 16
#include MPC_LOOPS
#undef MPC_VECTOR_WIDTH
}  // namespace avx512
MPC_END_TARGET
#undef MPC_VECTOR_F16
#endif

#undef MPC_INLINE
