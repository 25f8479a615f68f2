// A tensor that the caller owns.

#ifndef MPC_TENSOR_H_
#define MPC_TENSOR_H_

#include "mpc/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

// The memory that bytes lie in. The numbers are DLPack's, but for the host.
enum {
  MPC_DEVICE_HOST = 0,
  MPC_DEVICE_CUDA = 2,
};
typedef struct mpc_device_s {
  uint32_t kind;  // One of the above.
  int32_t index;  // CUDA's number of the device.
} mpc_device_t;

// Dense, row-major. `data` and `shape` are borrowed for the call the tensor is
// given to. Set `struct_size` to sizeof(mpc_tensor_t).
//
// `device` may be the session's own device: inputs and outputs then stay there.
// Integers in device memory are not compared with their range, which would
// take a wait: a label or an index out of range makes what reads it NaN.
// Without the field (an older struct) data lies on the host.
typedef struct mpc_tensor_s {
  size_t struct_size;
  mpc_dtype_t dtype;
  uint32_t rank;
  const int64_t* shape;  // `rank` extents.
  void* data;            // Any alignment.
  mpc_device_t device;   // Where `data` points to; zero is the host.
} mpc_tensor_t;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // MPC_TENSOR_H_
