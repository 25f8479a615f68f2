// The position of the calling thread among the threads of a team. For team.cpp
// and dnnl_threads.cpp.

#ifndef MPC_KERNELS_CPU_TEAM_POSITION_H_
#define MPC_KERNELS_CPU_TEAM_POSITION_H_

#include "kernels/cpu/team/team.h"

namespace mpc::kernels {

struct Position {
  Team* team = nullptr;  // Null: this thread uses OpenMP.
  int limit = 1;         // Default number of threads of a region.
  int number = 0;        // Index in the innermost region, below `count`.
  int count = 1;
  bool in_parallel = false;  // Whether an enclosing region has several threads.
};

extern thread_local Position here;

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CPU_TEAM_POSITION_H_
