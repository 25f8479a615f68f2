// Converts calls of catalog kernels to the descriptions that the kernel library
// takes.

#ifndef MPC_RUNTIME_SRC_DEVICE_KERNEL_CALL_H_
#define MPC_RUNTIME_SRC_DEVICE_KERNEL_CALL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "runtime/src/program/program.h"

namespace mpc::runtime {

kernels::KernelDesc describe_call(const schema::Instruction& instruction);

// All fields of a description as one key. Calls with equal keys share a kernel.
std::vector<int64_t> key_of(const kernels::KernelDesc& desc);

// A status with MPC_INCOMPATIBLE: this call of this entry point cannot be
// prepared.
mpc_status_t kernel_error(const schema::Entry& entry,
                          const schema::Instruction& instruction,
                          const std::string& error);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_KERNEL_CALL_H_
