// Element types of tensors. C11 and C++17; depends only on the C library.

#ifndef MPC_DTYPE_H_
#define MPC_DTYPE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The numbers are stored in packages: never reuse or change one. In C++ the
// underlying type is fixed, so that a variable may hold any number, such as one
// read from a damaged file.
typedef enum mpc_dtype_e
#ifdef __cplusplus
    : uint32_t
#endif
{ MPC_DTYPE_F32 = 1,
  MPC_DTYPE_F16 = 2,
  MPC_DTYPE_BF16 = 3,
  MPC_DTYPE_F64 = 4,
  MPC_DTYPE_I64 = 5,
  MPC_DTYPE_I32 = 6,
  MPC_DTYPE_U8 = 7,    // MLIR i8; holds positions.
  MPC_DTYPE_BOOL = 8,  // One byte, 0 or 1; MLIR i1.
  // FP8 is used inside programs only: no input, output or state has it.
  MPC_DTYPE_F8E4M3 = 9,   // MLIR f8E4M3FN: no infinity, maximum 448.
  MPC_DTYPE_F8E5M2 = 10,  // MLIR f8E5M2: maximum 57344.
} mpc_dtype_t;

// Bytes of one element; 0 for a number that is not a dtype.
static inline size_t mpc_dtype_size(mpc_dtype_t dtype) {
  switch (dtype) {
    case MPC_DTYPE_F64:
    case MPC_DTYPE_I64:
      return 8;
    case MPC_DTYPE_F32:
    case MPC_DTYPE_I32:
      return 4;
    case MPC_DTYPE_F16:
    case MPC_DTYPE_BF16:
      return 2;
    case MPC_DTYPE_U8:
    case MPC_DTYPE_BOOL:
    case MPC_DTYPE_F8E4M3:
    case MPC_DTYPE_F8E5M2:
      return 1;
  }
  return 0;
}

// 1 for 8-bit floats, otherwise 0. Only programs use them: their elements are
// values times a scale that nothing outside of the program knows.
static inline int mpc_dtype_is_fp8(mpc_dtype_t dtype) {
  return dtype == MPC_DTYPE_F8E4M3 || dtype == MPC_DTYPE_F8E5M2;
}

// Short name ("f32"); "?" for a number that is not a dtype.
static inline const char* mpc_dtype_name(mpc_dtype_t dtype) {
  switch (dtype) {
    case MPC_DTYPE_F32:
      return "f32";
    case MPC_DTYPE_F16:
      return "f16";
    case MPC_DTYPE_BF16:
      return "bf16";
    case MPC_DTYPE_F64:
      return "f64";
    case MPC_DTYPE_I64:
      return "i64";
    case MPC_DTYPE_I32:
      return "i32";
    case MPC_DTYPE_U8:
      return "u8";
    case MPC_DTYPE_BOOL:
      return "bool";
    case MPC_DTYPE_F8E4M3:
      return "f8e4m3";
    case MPC_DTYPE_F8E5M2:
      return "f8e5m2";
  }
  return "?";
}

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // MPC_DTYPE_H_
