// What launchers tell the processes that they start.

#ifndef MPC_RUNTIME_SRC_RANKS_LAUNCHER_H_
#define MPC_RUNTIME_SRC_RANKS_LAUNCHER_H_

#include <cstdint>

namespace mpc::runtime {

// Whether Open MPI's launcher has started this process.
bool is_launched_by_open_mpi();

// The number of this process among those that a launcher (also torchrun) has
// started on this machine; 0 without a launcher.
uint32_t launched_local_rank();

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_RANKS_LAUNCHER_H_
