// How many CPUs a session may count on.

#ifndef MPC_RUNTIME_SRC_DEVICE_CPU_CPU_COUNT_H_
#define MPC_RUNTIME_SRC_DEVICE_CPU_CPU_COUNT_H_

#include <string>

namespace mpc::runtime {

// How many CPUs' time the control groups of the process (cgroup v2) allow, as
// the tightest of them says; 0 if none limits it.
double cpu_quota(const std::string& groups = "/proc/self/cgroup",
                 const std::string& mount = "/sys/fs/cgroup");

// Threads of a session that asks for no number: OMP_NUM_THREADS if that is set,
// else one for each CPU that the calling thread and the control groups may use.
int default_threads();

// The OpenMP that default_threads() asks, by the date of its specification:
// 201511 is 4.5.
int openmp_version();

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_CPU_CPU_COUNT_H_
