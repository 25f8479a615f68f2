// Threads on machines with several NUMA nodes.

#include "kernels/cpu/team/numa.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace mpc::kernels::testing {
namespace {

// A machine with these lists of CPUs by node; "" for a node without any.
class FakeNodes {
 public:
  explicit FakeNodes(const std::vector<std::string>& lists) {
    std::string numbers;
    for (size_t i = 0; i < lists.size(); ++i) {
      const auto node = folder_ / ("node" + std::to_string(i));
      std::filesystem::create_directories(node);
      std::ofstream(node / "cpulist") << lists[i] << "\n";
      numbers += (i ? "," : "") + std::to_string(i);
    }
    std::ofstream(folder_ / "online") << numbers << "\n";
  }
  ~FakeNodes() { std::filesystem::remove_all(folder_); }

  // The CPUs of each node that `allowed` has.
  std::vector<std::vector<int>> find(const std::vector<int>& allowed) const {
    std::vector<std::vector<int>> found;
    for (const cpu_set_t& node : numa_nodes(set_of(allowed), folder_.string()))
      found.push_back(list_of(node));
    return found;
  }
  static cpu_set_t set_of(const std::vector<int>& cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu : cpus) CPU_SET(cpu, &set);
    return set;
  }
  static std::vector<int> list_of(const cpu_set_t& set) {
    std::vector<int> list;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) list.push_back(cpu);
    return list;
  }

 private:
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      ("mpc-nodes-" + std::to_string(getpid()));
};

TEST(NumaNodes, HaveTheCpusThatAreAllowed) {
  using Nodes = std::vector<std::vector<int>>;
  const FakeNodes nodes({"0-1,4-5", "2-3,6-7", ""});
  EXPECT_EQ(nodes.find({0, 1, 2, 3, 4, 5, 6, 7, 8}),
            (Nodes{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(nodes.find({3, 5}), (Nodes{{5}, {3}}));
  EXPECT_EQ(nodes.find({0, 4}), (Nodes{{0, 4}}));
  EXPECT_EQ(numa_nodes(FakeNodes::set_of({0}), "/no/such/folder").size(), 0u);
}

TEST(NumaNodes, GetThreadsInProportion) {
  const std::vector<cpu_set_t> nodes = {FakeNodes::set_of({0, 1, 2, 3}),
                                        FakeNodes::set_of({4, 5})};
  auto nodes_of = [&](int threads) {
    std::string found;
    for (const cpu_set_t& place : places_on(nodes, threads))
      found += CPU_EQUAL(&place, &nodes[0]) ? 'a' : 'b';
    return found;
  };
  EXPECT_EQ(nodes_of(6), "aaaabb");
  EXPECT_EQ(nodes_of(3), "aab");
  EXPECT_EQ(nodes_of(2), "ab");
  EXPECT_EQ(nodes_of(12), "aaaaaaaabbbb");
  EXPECT_EQ(nodes_of(1), "");
  EXPECT_TRUE(places_on({nodes[0]}, 4).empty());
  EXPECT_TRUE(places_on({}, 4).empty());
}

}  // namespace
}  // namespace mpc::kernels::testing
