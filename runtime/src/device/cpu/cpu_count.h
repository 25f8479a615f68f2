// The number of CPUs that a session may use.

#ifndef MPC_RUNTIME_SRC_DEVICE_CPU_CPU_COUNT_H_
#define MPC_RUNTIME_SRC_DEVICE_CPU_CPU_COUNT_H_

#include <string>

namespace mpc::runtime {

// The number of CPUs whose time the control groups of the process (cgroup v2)
// allow, by the tightest limit among them; 0 if there is no limit.
double cpu_quota(const std::string& groups = "/proc/self/cgroup",
                 const std::string& mount = "/sys/fs/cgroup");

// The default number of threads of a session: OMP_NUM_THREADS if that is set,
// otherwise the number of CPUs that the calling thread and its control groups
// may use.
int default_threads();

// The OpenMP version that default_threads() queries, as the date of its
// specification: 201511 is 4.5.
int openmp_version();

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_CPU_CPU_COUNT_H_
