// Choosing and loading the package's code for a CUDA device.

#ifndef MPC_RUNTIME_SRC_DEVICE_CUDA_MODULE_H_
#define MPC_RUNTIME_SRC_DEVICE_CUDA_MODULE_H_

#include <string>
#include <vector>

#include "runtime/src/device/cuda/resources.h"
#include "runtime/src/program/program.h"

namespace mpc::runtime {

// Finds the code that the device can run, the best first: machine code for
// exactly its architecture, then PTX that is not newer than the device, the
// newest first. Empty if the program has no generated functions. Returns
// MPC_INCOMPATIBLE if there is no such code (the message lists what the package
// has), or if the device cannot compute in the program's precision.
mpc_status_t choose_code(const Gpu& gpu, const mpc_program_t& program,
                         const schema::Variant& variant,
                         std::vector<const schema::Segment*>* out_segments);

// Loads the first segment that the driver accepts. A driver that is older than
// the compiler's ptxas rejects machine code but compiles PTX; `*out_note` says
// so. If the driver rejects all code, the error has the driver's message.
mpc_status_t load_module(const Gpu& gpu, const mpc_program_t& program,
                         const std::vector<const schema::Segment*>& segments,
                         CudaModule* out_module, std::string* out_note);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_CUDA_MODULE_H_
