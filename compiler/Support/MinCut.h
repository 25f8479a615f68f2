//===- MinCut.h - Minimum s-t cut -------------------------------*- C++ -*-===//
//
// Exact minimum cut of a directed network (Dinic's algorithm). Every node ends
// on one of two sides; the cut is the cheapest way to choose them. The result
// depends only on the order of calls, never on addresses or hashing.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_SUPPORT_MINCUT_H
#define MPC_COMPILER_SUPPORT_MINCUT_H

#include <cstdint>
#include <vector>

namespace mpc {

class MinCut {
public:
  using Capacity = int64_t;
  using Node = uint32_t;

  /// Cost of a forbidden choice. The sum of all other costs must be less.
  static constexpr Capacity forbidden = Capacity(1) << 60;

  Node addNode();

  /// `cost` is paid if `from` ends on the source side and `to` on the sink
  /// side. Costs are not negative; those above `forbidden` are clamped to it.
  void addEdge(Node from, Node to, Capacity cost);

  /// `cost` is paid if `node` ends on the sink side (addCostOfSink) or on the
  /// source side (addCostOfSource).
  void addCostOfSink(Node node, Capacity cost) { addEdge(source, node, cost); }
  void addCostOfSource(Node node, Capacity cost) { addEdge(node, sink, cost); }

  /// Returns the cost of the cheapest cut; `forbidden` if every cut makes a
  /// forbidden choice. Call once.
  Capacity solve();

  /// The side of a node after solve(). Of all cheapest cuts, it chose the one
  /// with the most nodes on the source side.
  bool isSource(Node node) const { return !reachesSink[node]; }

private:
  /// Edges come in pairs: edge `i ^ 1` is the reverse of edge `i`.
  struct Edge {
    Node to;
    Capacity left; ///< Residual capacity.
  };

  bool findLevels();
  Capacity pushPath();
  void findSinkSide();

  static constexpr Node source = 0;
  static constexpr Node sink = 1;

  std::vector<Edge> edges;
  std::vector<std::vector<uint32_t>> edgesOf = {{}, {}};
  std::vector<uint32_t> level; ///< Distance from the source plus 1, or 0.
  std::vector<uint32_t>
      nextEdge; ///< First edge not yet known to be a dead end.
  std::vector<char> reachesSink;
};

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_MINCUT_H
