#include "kernels/cpu/team/numa.h"

#include <cstdint>
#include <cstdio>
#include <memory>

namespace mpc::kernels {

namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

// Adds the numbers of a list like "0-15,32-47" to the set.
void read_list(std::FILE* file, cpu_set_t* set) {
  unsigned first, last;
  char separator = ',';
  while (separator == ',' && std::fscanf(file, "%u", &first) == 1) {
    last = first;
    separator = 0;
    (void)std::fscanf(file, "%c", &separator);
    if (separator == '-') {
      separator = 0;
      if (std::fscanf(file, "%u%c", &last, &separator) < 1) return;
    }
    for (unsigned cpu = first; cpu <= last && cpu < CPU_SETSIZE; ++cpu)
      CPU_SET(cpu, set);
  }
}

}  // namespace

std::vector<cpu_set_t> numa_nodes(const cpu_set_t& allowed,
                                  const std::string& folder) {
  cpu_set_t numbers;
  CPU_ZERO(&numbers);
  if (const File online{std::fopen((folder + "/online").c_str(), "re")})
    read_list(online.get(), &numbers);
  std::vector<cpu_set_t> nodes;
  for (unsigned node = 0; node < CPU_SETSIZE; ++node) {
    if (!CPU_ISSET(node, &numbers)) continue;
    const std::string path =
        folder + "/node" + std::to_string(node) + "/cpulist";
    const File list(std::fopen(path.c_str(), "re"));
    if (!list) continue;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    read_list(list.get(), &cpus);
    CPU_AND(&cpus, &cpus, &allowed);
    if (CPU_COUNT(&cpus) > 0) nodes.push_back(cpus);
  }
  return nodes;
}

std::vector<cpu_set_t> places_on(const std::vector<cpu_set_t>& nodes,
                                 int threads) {
  if (nodes.size() < 2 || static_cast<size_t>(threads) < nodes.size())
    return {};
  int cpus = 0;
  for (const cpu_set_t& node : nodes) cpus += CPU_COUNT(&node);
  std::vector<cpu_set_t> places;
  size_t node = 0;
  int before = 0;  // CPUs of the nodes before this one.
  for (int thread = 0; thread < threads; ++thread) {
    // The middle of the thread's share.
    const int cpu = static_cast<int>((2 * int64_t{thread} + 1) * cpus /
                                     (2 * int64_t{threads}));
    while (cpu >= before + CPU_COUNT(&nodes[node]))
      before += CPU_COUNT(&nodes[node++]);
    places.push_back(nodes[node]);
  }
  return places;
}

}  // namespace mpc::kernels
