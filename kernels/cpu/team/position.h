// Where the calling thread stands among the threads of a team; for team.cpp and
// for what answers oneDNN.

#ifndef MPC_KERNELS_CPU_TEAM_POSITION_H_
#define MPC_KERNELS_CPU_TEAM_POSITION_H_

#include "kernels/cpu/team/team.h"

namespace mpc::kernels {

struct Position {
  Team* team = nullptr;  // Null: this thread uses OpenMP's.
  int limit = 1;         // Threads of a region that does not say how many.
  int number = 0;        // In the innermost region, of `count`.
  int count = 1;
  bool in_parallel = false;  // Whether a region around has several threads.
};

extern thread_local Position here;

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CPU_TEAM_POSITION_H_
