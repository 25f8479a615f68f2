//===- StepGraph.cpp - Forward and backward pass of a function ------------===//

#include "passes/Recompute/StepGraph.h"

#include "compiler/Dialect/Train/IR/Program.h"
#include "compiler/Dialect/Train/IR/Views.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace mpc;

int64_t mpc::bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() *
         llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

int64_t mpc::flopsOf(Operation *op) {
  auto cost = dyn_cast<train::CostOpInterface>(op);
  return cost ? cost.getFlops() : 0;
}

/// True if `op` computes a tensor of more than one element, unlike ops that
/// scale the loss.
static bool computesTensor(Operation *op) {
  return llvm::any_of(op->getResultTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getNumElements() > 1;
  });
}

std::optional<StepGraph> StepGraph::find(func::FuncOp func) {
  StepGraph graph(func);
  llvm::DenseSet<Value> ofSeed;
  int64_t position = 0;
  for (Operation &op : func.getBody().front()) {
    graph.order[&op] = position++;
    bool dependsOnSeed = op.hasAttr(kLossSeedAttr) ||
                         llvm::any_of(op.getOperands(), [&](Value operand) {
                           return ofSeed.contains(operand);
                         });
    if (dependsOnSeed) {
      ofSeed.insert(op.result_begin(), op.result_end());
      if (!graph.begin && computesTensor(&op))
        graph.begin = &op;
    }
    (graph.begin ? graph.backward : graph.forward).push_back(&op);
    if (train::isOutput(&op))
      for (Value operand : op.getOperands())
        graph.written.insert(train::skipViews(operand));
  }
  if (!graph.begin)
    return std::nullopt;
  return graph;
}

bool StepGraph::isFree(Value value) const {
  Value root = train::skipViews(value);
  Operation *def = root.getDefiningOp();
  return !def || isa<train::ReadOp>(def) ||
         def->hasTrait<OpTrait::ConstantLike>() || written.contains(root);
}

std::vector<int64_t> StepGraph::keptBytes() const {
  // Lifetimes of tensors, from the op that computes them to the last one that
  // reads them.
  struct LiveRange {
    int64_t first, last;
  };
  llvm::DenseMap<Value, LiveRange> ranges;
  for (Operation *op : backward)
    for (Value operand : op->getOperands()) {
      Value root = train::skipViews(operand);
      Operation *def = root.getDefiningOp();
      if (isFree(root) || !(isForward(def) || def->hasAttr(kRecomputedAttr)))
        continue;
      auto entry = ranges.insert({root, {positionOf(def), 0}}).first;
      entry->second.last = positionOf(op);
    }
  std::vector<int64_t> bytes(order.size() + 1, 0);
  for (const auto &[value, range] : ranges) {
    bytes[range.first] += bytesOf(value);
    bytes[range.last + 1] -= bytesOf(value);
  }
  bytes.pop_back(); // Nothing is kept after the last op.
  std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
  return bytes;
}

int64_t StepGraph::peakBytes() const {
  std::vector<int64_t> bytes = keptBytes();
  return *std::max_element(bytes.begin(), bytes.end());
}
