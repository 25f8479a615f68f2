//===- MinCut.cpp - Minimum s-t cut ---------------------------------------===//

#include "compiler/Support/MinCut.h"

#include <algorithm>
#include <cassert>

using namespace mpc;

MinCut::Node MinCut::addNode() {
  edgesOf.emplace_back();
  return edgesOf.size() - 1;
}

void MinCut::addEdge(Node from, Node to, Capacity cost) {
  assert(cost >= 0 && "a cut pays, it never earns");
  if (cost == 0 || from == to)
    return;
  edgesOf[from].push_back(edges.size());
  edges.push_back({to, std::min(cost, forbidden)});
  edgesOf[to].push_back(edges.size());
  edges.push_back({from, 0});
}

/// Breadth-first search from the source over edges with residual capacity.
bool MinCut::findLevels() {
  level.assign(edgesOf.size(), 0);
  level[source] = 1;
  std::vector<Node> queue = {source};
  for (size_t head = 0; head < queue.size(); ++head)
    for (uint32_t index : edgesOf[queue[head]]) {
      const Edge &edge = edges[index];
      if (edge.left == 0 || level[edge.to] != 0)
        continue;
      level[edge.to] = level[queue[head]] + 1;
      queue.push_back(edge.to);
    }
  return level[sink] != 0;
}

/// Sends flow along one shortest path; returns 0 if none is left. Uses an
/// explicit path instead of recursion, since networks are as deep as models.
MinCut::Capacity MinCut::pushPath() {
  std::vector<uint32_t> path;
  Node node = source;
  while (node != sink) {
    uint32_t &next = nextEdge[node];
    const std::vector<uint32_t> &candidates = edgesOf[node];
    while (next < candidates.size() &&
           (edges[candidates[next]].left == 0 ||
            level[edges[candidates[next]].to] != level[node] + 1))
      ++next;
    if (next < candidates.size()) {
      path.push_back(candidates[next]);
      node = edges[candidates[next]].to;
      continue;
    }
    if (path.empty())
      return 0;
    // A dead end: go back and never take this edge again.
    node = edges[path.back() ^ 1].to;
    path.pop_back();
    ++nextEdge[node];
  }

  Capacity flow = forbidden;
  for (uint32_t index : path)
    flow = std::min(flow, edges[index].left);
  for (uint32_t index : path) {
    edges[index].left -= flow;
    edges[index ^ 1].left += flow;
  }
  return flow;
}

/// Searches backwards from the sink: a node that cannot reach it may stay on
/// the source side at no cost.
void MinCut::findSinkSide() {
  reachesSink.assign(edgesOf.size(), 0);
  reachesSink[sink] = 1;
  std::vector<Node> queue = {sink};
  for (size_t head = 0; head < queue.size(); ++head)
    for (uint32_t index : edgesOf[queue[head]]) {
      Node from = edges[index].to;
      if (edges[index ^ 1].left == 0 || reachesSink[from])
        continue;
      reachesSink[from] = 1;
      queue.push_back(from);
    }
}

MinCut::Capacity MinCut::solve() {
  Capacity total = 0;
  while (total < forbidden && findLevels()) {
    nextEdge.assign(edgesOf.size(), 0);
    while (Capacity flow = pushPath()) {
      total += flow;
      if (total >= forbidden)
        break;
    }
  }
  findSinkSide();
  return std::min(total, forbidden);
}
