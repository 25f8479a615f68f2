// The package's code for a CUDA device.

#ifndef MPC_RUNTIME_SRC_DEVICE_CUDA_MODULE_H_
#define MPC_RUNTIME_SRC_DEVICE_CUDA_MODULE_H_

#include <string>
#include <vector>

#include "runtime/src/device/cuda/resources.h"
#include "runtime/src/program/program.h"

namespace mpc::runtime {

// Finds the code that the device runs, the best first: machine code for exactly
// its architecture, then PTX that is not newer than the device, the newest
// first. Empty if the program has no generated functions. MPC_INCOMPATIBLE
// lists what the package has, or says that the device cannot compute in the
// program's precision.
mpc_status_t choose_code(const Gpu& gpu, const mpc_program_t& program,
                         const schema::Variant& variant,
                         std::vector<const schema::Segment*>* out_segments);

// Loads the first that the driver takes: one that is older than the compiler's
// ptxas refuses its machine code, but compiles the PTX. `*out_note` says so.
// What the driver says of code that it refuses is in the message.
mpc_status_t load_module(const Gpu& gpu, const mpc_program_t& program,
                         const std::vector<const schema::Segment*>& segments,
                         CudaModule* out_module, std::string* out_note);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_CUDA_MODULE_H_
