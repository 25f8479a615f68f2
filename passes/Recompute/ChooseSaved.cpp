//===- ChooseSaved.cpp - Choose the values to save ------------------------===//
//
// Every value has two nodes, before and behind its memory. The source side is
// available after the forward pass, the sink side is read by the backward pass.
// If the cut separates the two nodes of a value, the value is kept and costs
// its bytes.
//
//===----------------------------------------------------------------------===//

#include "passes/Recompute/ChooseSaved.h"

#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/IR/Views.h"
#include "compiler/Support/MinCut.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpc;

/// FLOPs per byte above which recomputing takes longer than keeping.
static constexpr int64_t kCheapFlopsPerByte = 16;

/// Cost of a byte kept between checkpoints, which should be avoided.
static constexpr MinCut::Capacity kAvoid = 1 << 12;

/// True if `op` computes the same bits wherever it is placed.
static bool canRematerialize(Operation *op) {
  return isPure(op) && op->getNumRegions() == 0 && op->getNumOperands() > 0;
}

static bool isCheap(Operation *op) {
  auto precision = dyn_cast<amp::PrecisionOpInterface>(op);
  if (precision &&
      precision.getPrecisionClass(FloatType()) == amp::PrecisionClass::Low)
    return false;
  int64_t bytes = 0;
  for (Value operand : op->getOperands())
    bytes += bytesOf(operand);
  for (Value result : op->getResults())
    bytes += bytesOf(result);
  return flopsOf(op) <= bytes * kCheapFlopsPerByte;
}

static bool isNumber(Value value) {
  return cast<ShapedType>(value.getType()).getNumElements() == 1;
}

/// The forward values that the first gradient op reads.
static SmallVector<Value> firstReads(const StepGraph &graph) {
  SmallVector<Value> values;
  for (Value operand : graph.backwardBegin()->getOperands())
    if (!graph.isFree(operand))
      values.push_back(train::skipViews(operand));
  return values;
}

namespace {

class Network {
public:
  Network(const StepGraph &graph, const Extent &extent)
      : graph(graph), extent(extent) {}

  llvm::DenseSet<Value> solve() {
    for (Operation *op : graph.forwardOps())
      for (Value result : op->getResults())
        addValue(op, result);
    for (Operation *op : graph.backwardOps())
      for (Value operand : op->getOperands())
        if (auto found = nodes.find(operand); found != nodes.end())
          cut.addCostOfSource(found->second.behind, MinCut::forbidden);
    cut.solve();
    llvm::DenseSet<Value> kept;
    for (const auto &[value, pair] : nodes)
      if (cut.isSource(pair.front) && !cut.isSource(pair.behind))
        kept.insert(value);
    return kept;
  }

private:
  struct Pair {
    MinCut::Node front, behind;
  };

  bool mayRematerialize(Operation *op) const {
    int64_t position = graph.positionOf(op);
    return canRematerialize(op) &&
           (position <= extent.allUntil ||
            (position <= extent.cheapUntil && isCheap(op)));
  }

  MinCut::Capacity costOf(Operation *op, Value value) const {
    if (train::isView(op))
      return MinCut::forbidden; // The viewed value is kept instead.
    bool isAvoided = graph.positionOf(op) <= extent.allUntil &&
                     !extent.checkpoints.contains(value);
    return bytesOf(value) * (isAvoided ? kAvoid : 1);
  }

  void addValue(Operation *op, Value value) {
    if (graph.isFree(value))
      return; // Costs nothing on either side.
    Pair pair = {cut.addNode(), cut.addNode()};
    nodes[value] = pair;
    cut.addEdge(pair.front, pair.behind, costOf(op, value));
    // Values that the first gradient op reads are still in memory.
    bool isStillThere = llvm::is_contained(firstReads(graph), value);
    bool isCheckpoint = extent.checkpoints.contains(value) &&
                        graph.positionOf(op) <= extent.allUntil;
    if ((!train::isView(op) && !mayRematerialize(op)) || isStillThere ||
        isCheckpoint)
      cut.addCostOfSink(pair.front, MinCut::forbidden);
    // Otherwise everything would be recomputed from the inputs, which cost
    // nothing.
    if (isCheckpoint)
      cut.addCostOfSource(pair.behind, MinCut::forbidden);
    for (Value operand : op->getOperands())
      if (auto found = nodes.find(operand); found != nodes.end())
        cut.addEdge(found->second.behind, pair.front, MinCut::forbidden);
  }

  const StepGraph &graph;
  const Extent &extent;
  MinCut cut;
  llvm::MapVector<Value, Pair> nodes;
};

} // namespace

llvm::DenseSet<Value> mpc::chooseSaved(const StepGraph &graph,
                                       const Extent &extent) {
  return Network(graph, extent).solve();
}

std::vector<SingleValueCut> mpc::findSingleValueCuts(const StepGraph &graph) {
  llvm::DenseMap<Value, int64_t> lastRead;
  for (Operation *op : graph.forwardOps())
    for (Value operand : op->getOperands())
      if (!graph.isFree(operand))
        lastRead[train::skipViews(operand)] = graph.positionOf(op);
  for (Value value : firstReads(graph))
    lastRead[value] = graph.positionOf(graph.backwardBegin());
  std::vector<SingleValueCut> cuts;
  llvm::SetVector<Value> crossing;
  llvm::DenseSet<Value> ofStates;
  for (Operation *op : graph.forwardOps()) {
    if (isa<train::ReadOp>(op) ||
        llvm::any_of(op->getOperands(),
                     [&](Value operand) { return ofStates.contains(operand); }))
      ofStates.insert(op->result_begin(), op->result_end());
    int64_t position = graph.positionOf(op);
    crossing.remove_if(
        [&](Value value) { return lastRead.lookup(value) <= position; });
    for (Value result : op->getResults())
      if (auto found = lastRead.find(result);
          found != lastRead.end() && found->second > position &&
          !train::isView(op) && ofStates.contains(result) && !isNumber(result))
        crossing.insert(result);
    if (crossing.size() == 1 &&
        (cuts.empty() || cuts.back().value != crossing.front()))
      cuts.push_back({crossing.front(), position});
  }
  return cuts;
}

std::vector<SingleValueCut>
mpc::chooseCheckpoints(const StepGraph &graph, ArrayRef<SingleValueCut> cuts) {
  // The memory of blocks, assuming that cheap ops are always recomputed. The
  // values that the first gradient op reads are gone when the first block is
  // recomputed.
  Extent cheap;
  cheap.cheapUntil = graph.positionOf(graph.backwardBegin());
  llvm::DenseSet<Value> kept = chooseSaved(graph, cheap);
  for (Value value : firstReads(graph))
    kept.erase(value);
  std::vector<int64_t> sums = {0}; ///< Prefix sums over ops.
  for (Operation *op : graph.forwardOps()) {
    sums.push_back(sums.back());
    for (Value result : op->getResults())
      if (kept.contains(result))
        sums.back() += bytesOf(result);
  }
  auto cutAt = [&](int64_t size, int64_t &bytes) {
    std::vector<SingleValueCut> chosen;
    int64_t begin = 0, held = 0, largest = 0;
    for (const SingleValueCut &cut : cuts) {
      int64_t here = sums[cut.position + 1];
      if (here - begin < size)
        continue;
      chosen.push_back(cut);
      largest = std::max(largest, here - begin);
      held += bytesOf(cut.value);
      begin = here;
    }
    bytes = held + std::max(largest, sums.back() - begin);
    return chosen;
  };
  std::vector<SingleValueCut> best;
  int64_t least = INT64_MAX;
  for (size_t parts = 1; parts <= cuts.size() + 1; parts += parts / 16 + 1) {
    int64_t bytes = 0;
    std::vector<SingleValueCut> chosen =
        cutAt(sums.back() / int64_t(parts), bytes);
    if (bytes < least) {
      least = bytes;
      best = std::move(chosen);
    }
  }
  return best;
}
