// Includes MPC_LOOPS, the name of a file, once for each instruction set: on x86
// in namespaces `avx2`, which kernels require, and `avx512`, elsewhere in
// `baseline`, with the macros that lanes.h needs. It has no include guard: include it inside a namespace of the
// file that uses the loops.

#define MPC_INLINE inline __attribute__((always_inline))

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
#else
namespace baseline {
#define MPC_VECTOR_WIDTH 4
#define MPC_VECTOR_F16 0
#include MPC_LOOPS
#undef MPC_VECTOR_F16
#undef MPC_VECTOR_WIDTH
}  // namespace baseline
#endif

#undef MPC_INLINE
