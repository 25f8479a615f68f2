//===- NumaNodes.h - Parts of a machine with their own memory ---*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_BASE_NUMANODES_H
#define MPC_TOOLS_MPC_BASE_NUMANODES_H

#include <string>
#include <vector>

namespace mpc::tool {

/// A part of the machine whose CPUs reach its memory faster than that of
/// others.
struct NumaNode {
  unsigned number;
  std::string cpus; ///< As Linux lists them: "0-15,32-47".
};

/// The nodes with CPUs, by number; none if the system does not list them.
std::vector<NumaNode>
findNumaNodes(const std::string &folder = "/sys/devices/system/node");

/// How to use several nodes, for people; "" if there are not several.
std::string adviceFor(const std::vector<NumaNode> &nodes);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_BASE_NUMANODES_H
