//===- mincut_test.cpp - Minimum cut against brute force ------------------===//

#include "compiler/Support/MinCut.h"

#include <gtest/gtest.h>

#include <random>

using mpc::MinCut;

namespace {

/// A network as a list of costs, so that any labelling can be priced.
struct Network {
  struct Cost {
    int from; ///< -1: the source.
    int to;   ///< -1: the sink.
    int64_t cost;
  };
  int nodes;
  std::vector<Cost> costs;

  /// Bit `i` of `sinks` puts node `i` on the sink side.
  int64_t cutCost(uint32_t sinks) const {
    int64_t total = 0;
    for (const Cost &c : costs) {
      bool fromSource = c.from < 0 || !(sinks >> c.from & 1);
      bool toSink = c.to < 0 || (sinks >> c.to & 1);
      if (fromSource && toSink)
        total = std::min(total + c.cost, MinCut::forbidden);
    }
    return total;
  }

  MinCut build(std::vector<MinCut::Node> &ids) const {
    MinCut cut;
    for (int i = 0; i < nodes; ++i)
      ids.push_back(cut.addNode());
    for (const Cost &c : costs) {
      if (c.from < 0)
        cut.addCostOfSink(ids[c.to], c.cost);
      else if (c.to < 0)
        cut.addCostOfSource(ids[c.from], c.cost);
      else
        cut.addEdge(ids[c.from], ids[c.to], c.cost);
    }
    return cut;
  }
};

Network makeRandom(std::mt19937 &random) {
  auto below = [&](int n) { return static_cast<int>(random() % n); };
  Network network{1 + below(9), {}};
  int costs = below(4 * network.nodes + 1);
  for (int i = 0; i < costs; ++i) {
    Network::Cost cost{below(network.nodes + 1) - 1,
                       below(network.nodes + 1) - 1, below(20)};
    if (cost.from < 0 && cost.to < 0)
      continue;
    if (below(4) == 0)
      cost.cost = MinCut::forbidden;
    network.costs.push_back(cost);
  }
  return network;
}

TEST(MinCut, AgreesWithBruteForce) {
  std::mt19937 random(1);
  int forbidden = 0;
  for (int round = 0; round < 5000; ++round) {
    Network network = makeRandom(random);
    int64_t best = MinCut::forbidden;
    for (uint32_t sinks = 0; sinks < 1u << network.nodes; ++sinks)
      best = std::min(best, network.cutCost(sinks));

    std::vector<MinCut::Node> ids;
    MinCut cut = network.build(ids);
    ASSERT_EQ(cut.solve(), best) << "round " << round;
    if (best == MinCut::forbidden) {
      ++forbidden;
      continue;
    }
    uint32_t chosen = 0;
    for (int i = 0; i < network.nodes; ++i)
      chosen |= static_cast<uint32_t>(!cut.isSource(ids[i])) << i;
    ASSERT_EQ(network.cutCost(chosen), best) << "round " << round;
    // Among all minimum cuts, finds the one with the most nodes on the source
    // side: the sink side of every other minimum cut is a superset of its own.
    for (uint32_t sinks = 0; sinks < 1u << network.nodes; ++sinks)
      if (network.cutCost(sinks) == best) {
        ASSERT_EQ(sinks & chosen, chosen) << "round " << round;
      }
  }
  // The test is meaningful only if both outcomes occur.
  EXPECT_GT(forbidden, 100);
  EXPECT_LT(forbidden, 4900);
}

TEST(MinCut, EmptyNetworkIsFree) {
  MinCut cut;
  EXPECT_EQ(cut.solve(), 0);
}

TEST(MinCut, TiesGoToTheSource) {
  MinCut cut;
  MinCut::Node node = cut.addNode();
  cut.addCostOfSink(node, 5);
  cut.addCostOfSource(node, 5);
  EXPECT_EQ(cut.solve(), 5);
  EXPECT_TRUE(cut.isSource(node));
}

// A chain as long as a large model: no recursion, and linear time.
TEST(MinCut, LongChain) {
  MinCut cut;
  std::vector<MinCut::Node> chain = {cut.addNode()};
  cut.addCostOfSink(chain[0], MinCut::forbidden);
  for (int i = 1; i < 200000; ++i) {
    chain.push_back(cut.addNode());
    cut.addEdge(chain[i - 1], chain[i], i == 777 ? 3 : 1000);
  }
  cut.addCostOfSource(chain.back(), MinCut::forbidden);
  EXPECT_EQ(cut.solve(), 3);
  EXPECT_TRUE(cut.isSource(chain[776]));
  EXPECT_FALSE(cut.isSource(chain[777]));
}

} // namespace
