// NUMA nodes, as mpc doctor reports them.

#include "tools/mpc/base/NumaNodes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace mpc::tool;

namespace {

class NumaNodes : public ::testing::Test {
protected:
  void SetUp() override { std::filesystem::create_directories(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void addNode(const std::string &name, const std::string &cpus) {
    std::filesystem::create_directories(folder + "/" + name);
    std::ofstream(folder + "/" + name + "/cpulist") << cpus << "\n";
  }

  const std::string folder = ::testing::TempDir() + "/numa_test_nodes";
};

TEST_F(NumaNodes, AreListedByNumber) {
  addNode("node10", "8-11");
  addNode("node2", "4-7");
  addNode("node0", "0-3,12-15");
  addNode("node3", ""); // Memory only.
  addNode("nodes", "1");
  std::ofstream(folder + "/online") << "0-3\n";
  const std::vector<NumaNode> nodes = findNumaNodes(folder);
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[0].cpus, "0-3,12-15");
  EXPECT_EQ(nodes[1].cpus, "4-7");
  EXPECT_EQ(nodes[2].number, 10u);
  EXPECT_NE(adviceFor(nodes).find("mpirun -n 3 --map-by numa"),
            std::string::npos);
}

TEST_F(NumaNodes, OneNeedsNoAdvice) {
  addNode("node0", "0-1");
  EXPECT_EQ(adviceFor(findNumaNodes(folder)), "");
  EXPECT_TRUE(findNumaNodes(folder + "/missing").empty());
}

} // namespace
