// The package's code for a CUDA device.

#ifndef MPC_RUNTIME_SRC_DEVICE_CUDA_MODULE_H_
#define MPC_RUNTIME_SRC_DEVICE_CUDA_MODULE_H_

#include "runtime/src/device/cuda/resources.h"
#include "runtime/src/program/program.h"

namespace mpc::runtime {

// Finds the code that the device runs: machine code for exactly its
// architecture, else the newest PTX that is not newer than the device. Null in
// `*out_segment` if the program has no generated functions. MPC_INCOMPATIBLE
// lists what the package has, or says that the device cannot compute in the
// program's precision.
mpc_status_t choose_code(const Gpu& gpu, const mpc_program_t& program,
                         const schema::Variant& variant,
                         const schema::Segment** out_segment);

// Loads it. What the driver says of PTX that it refuses is in the message.
mpc_status_t load_module(const Gpu& gpu, const mpc_program_t& program,
                         const schema::Segment& segment,
                         CudaModule* out_module);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_CUDA_MODULE_H_
