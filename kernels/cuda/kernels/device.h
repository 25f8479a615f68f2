// Included first by the kernels of this folder: CUDA, and macros for the two
// constructs that the host simulator (test/device_sim) must define differently,
// which it does in its <cuda_runtime.h>.

#ifndef MPC_KERNELS_CUDA_KERNELS_DEVICE_H_
#define MPC_KERNELS_CUDA_KERNELS_DEVICE_H_

#include <cuda_runtime.h>

#ifdef __CUDACC__

// An array in shared memory: MPC_SHARED(float, tile, [32][33]);
#define MPC_SHARED(type, name, dims) __shared__ type name dims

// A pointer to the shared memory given at launch, aligned to 16 bytes:
// MPC_DYNAMIC_SHARED(float, row);
extern __shared__ __align__(16) unsigned char mpc_dynamic_shared[];
#define MPC_DYNAMIC_SHARED(type, name) \
  type* name = reinterpret_cast<type*>(mpc_dynamic_shared)

#endif  // __CUDACC__

#endif  // MPC_KERNELS_CUDA_KERNELS_DEVICE_H_
