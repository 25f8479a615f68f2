//===- NumaNodes.cpp - Parts of a machine with memory of their own --------===//

#include "tools/mpc/base/NumaNodes.h"
#include "tools/mpc/base/Text.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

using namespace mpc::tool;

std::vector<NumaNode> mpc::tool::findNumaNodes(const std::string &folder) {
  std::vector<NumaNode> nodes;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.rfind("node", 0) != 0 || name.size() < 5 || name.size() > 9 ||
        !std::all_of(name.begin() + 4, name.end(),
                     [](char c) { return c >= '0' && c <= '9'; }))
      continue;
    NumaNode node{static_cast<unsigned>(std::stoul(name.substr(4))), ""};
    std::ifstream file(entry->path() / "cpulist");
    // Some nodes have memory only.
    if (std::getline(file, node.cpus) && !node.cpus.empty())
      nodes.push_back(node);
  }
  std::sort(
      nodes.begin(), nodes.end(),
      [](const NumaNode &a, const NumaNode &b) { return a.number < b.number; });
  return nodes;
}

std::string mpc::tool::adviceFor(const std::vector<NumaNode> &nodes) {
  if (nodes.size() < 2)
    return "";
  return format("the memory of another NUMA node is slower: compile with "
                "--data-parallel and use one process for each node, as by "
                "mpirun -n %zu --map-by numa --bind-to numa (Open MPI) or "
                "mpirun -n %zu -bind-to numa (MPICH)",
                nodes.size(), nodes.size());
}
