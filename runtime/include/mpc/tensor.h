// A tensor that the caller owns.

#ifndef MPC_TENSOR_H_
#define MPC_TENSOR_H_

#include "mpc/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

// Dense, row-major, on the host. `data` and `shape` are borrowed for the call
// the tensor is given to. Set `struct_size` to sizeof(mpc_tensor_t).
typedef struct mpc_tensor_s {
  size_t struct_size;
  mpc_dtype_t dtype;
  uint32_t rank;
  const int64_t* shape;  // `rank` extents.
  void* data;            // Any alignment.
} mpc_tensor_t;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // MPC_TENSOR_H_
