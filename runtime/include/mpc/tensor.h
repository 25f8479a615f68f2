// A tensor in memory that the caller owns.

#ifndef MPC_TENSOR_H_
#define MPC_TENSOR_H_

#include "mpc/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

// The kind of memory that holds a tensor. The numbers are those of DLPack,
// except for the host.
enum {
  MPC_DEVICE_HOST = 0,
  MPC_DEVICE_CUDA = 2,
};
typedef struct mpc_device_s {
  uint32_t kind;  // One of the above.
  int32_t index;  // CUDA device number.
} mpc_device_t;

// Dense, row-major. `data` and `shape` are borrowed for the duration of the
// call that the tensor is passed to. Set `struct_size` to sizeof(mpc_tensor_t).
//
// `device` may be the session's device: inputs and outputs then stay there.
// Integers in device memory are not checked against their range, because that
// would require a synchronization: an out-of-range label or index makes the
// results NaN. In an older struct without the field, the data is in host
// memory.
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
