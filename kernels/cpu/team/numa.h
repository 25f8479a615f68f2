// Which threads run where on a machine with several NUMA nodes.

#ifndef MPC_KERNELS_CPU_TEAM_NUMA_H_
#define MPC_KERNELS_CPU_TEAM_NUMA_H_

#include <sched.h>

#include <string>
#include <vector>

namespace mpc::kernels {

// The CPUs of `allowed` by NUMA node, in the order of their numbers; nodes
// without any are left out. Empty if the system does not list nodes in
// `folder`.
std::vector<cpu_set_t> numa_nodes(
    const cpu_set_t& allowed,
    const std::string& folder = "/sys/devices/system/node");

// The CPUs for each of `threads` threads: those of one node, in proportion to
// their number, so that threads with adjacent parts of the work have the same
// memory near. Empty with fewer than two nodes, or fewer threads than nodes.
std::vector<cpu_set_t> places_on(const std::vector<cpu_set_t>& nodes,
                                 int threads);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CPU_TEAM_NUMA_H_
