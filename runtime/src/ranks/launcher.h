// What launchers tell the processes that they start.

#ifndef MPC_RUNTIME_SRC_RANKS_LAUNCHER_H_
#define MPC_RUNTIME_SRC_RANKS_LAUNCHER_H_

namespace mpc::runtime {

// Whether Open MPI's launcher has started this process.
bool is_launched_by_open_mpi();

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_RANKS_LAUNCHER_H_
