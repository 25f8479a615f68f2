//===- UsePackedAttention.cpp - Attention of one projection ---------------===//
//
// Implements mpc-use-packed-attention from the table in kernels/catalog.def.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Dialect/Train/Ops/Shape/StridedView.h"
#include "passes/Fusion/Heads/HeadTransposes.h"
#include "passes/Fusion/Passes.h"
#include "passes/Grad/EntryPoints.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/DenseMap.h"

namespace mpc {
#define GEN_PASS_DEF_USEPACKEDATTENTIONPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

/// Query, key and value as heads of one tensor, [B, T, heads, D] or
/// [T, B, heads, D].
struct Packing {
  train::HeadLayoutOpInterface op;
  Value source;
  SmallVector<int64_t> shape;
  bool sequenceFirst;
  /// The value that has the gradients as elements of such a tensor; null if the
  /// op computes none.
  Value gradient = nullptr;
};

struct UsePackedAttentionPass
    : mpc::impl::UsePackedAttentionPassBase<UsePackedAttentionPass> {
  using Base::Base;

  void runOnOperation() override {
    bool hasChanged = false;
    SmallVector<train::HeadLayoutOpInterface> ops;
    getOperation().walk(
        [&](train::HeadLayoutOpInterface op) { ops.push_back(op); });
    for (ArrayRef<train::HeadLayoutOpInterface> group : groupsOf(ops)) {
      SmallVector<Packing> packings;
      for (train::HeadLayoutOpInterface op : group)
        if (std::optional<Packing> packing = packingOf(op))
          packings.push_back(std::move(*packing));
      if (packings.size() != group.size())
        continue;
      llvm::for_each(packings, pack);
      hasChanged = true;
    }
    if (hasChanged)
      eraseDeadOps(getOperation());
  }

private:
  std::optional<Packing> packingOf(train::HeadLayoutOpInterface op) const;
  static std::optional<Packing> packingOf(train::HeadLayoutOpInterface op,
                                          bool sequenceFirst);
  static void pack(const Packing &packing);
};

} // namespace

static ArrayRef<int64_t> extentsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// The query, key and value of `op`.
static MutableArrayRef<OpOperand>
packedOperands(train::HeadLayoutOpInterface op) {
  return op.getOperandsWithHeads().slice(op.getFirstPackedOperand(), 3);
}

/// The head with which each part of a packed tensor begins.
static SmallVector<int64_t, 3> firstHeads(train::HeadLayoutOpInterface op) {
  int64_t heads = extentsOf(packedOperands(op)[0].get())[1];
  return {0, heads, heads + extentsOf(packedOperands(op)[1].get())[1]};
}

/// A part [B, heads, T, D], `part`, of the packed tensor `source`, which begins
/// at head `first`.
static train::StridedView viewOfPart(Value part, Value source, int64_t first,
                                     const Packing &packing) {
  ArrayRef<int64_t> shape = packing.shape;
  int64_t row = shape[2] * shape[3], outer = shape[1] * row;
  return {source,
          first * shape[3],
          extentsOf(part),
          {packing.sequenceFirst ? row : outer, shape[3],
           packing.sequenceFirst ? outer : row, 1}};
}

/// The value that has all elements of a packed gradient, the results of the op,
/// in their order; null if there is none, or if another op reads some of them.
static Value findGradient(const Packing &packing) {
  train::HeadLayoutOpInterface op = packing.op;
  llvm::SmallDenseMap<Value, train::StridedView> views;
  Type element = getElementTypeOrSelf(op.getResultsWithHeads()[0]);
  for (auto [result, first] :
       llvm::zip(op.getResultsWithHeads(), firstHeads(op))) {
    if (getElementTypeOrSelf(result) != element)
      return {};
    Value end = result;
    views[end] = viewOfPart(result, op->getResult(0), first, packing);
    // Up to an op that another result reaches later.
    while (true) {
      train::StridedView whole = train::wholeView(end);
      whole.source = op->getResult(0);
      if (ShapedType::getNumElements(extentsOf(end)) ==
              ShapedType::getNumElements(packing.shape) &&
          views[end] == whole)
        return end;
      if (!end.hasOneUse() || (*end.user_begin())->getNumResults() != 1)
        return {};
      OpResult next = (*end.user_begin())->getResult(0);
      auto view = train::stridedViewOf(
          next, [&](Value operand) -> std::optional<train::StridedView> {
            auto found = views.find(operand);
            return found == views.end() ? std::nullopt
                                        : std::optional(found->second);
          });
      if (!view)
        break;
      views[next] = std::move(*view);
      end = next;
    }
  }
  return {};
}

std::optional<Packing>
UsePackedAttentionPass::packingOf(train::HeadLayoutOpInterface op) const {
  SmallVector<StringRef> available;
  StringRef(features).split(available, ',');
  Type element = getElementTypeOrSelf(packedOperands(op)[0].get());
  if (op.getBshdKernelName().empty() || op.getPackedKernelName().empty() ||
      !device->computesIn(op.getPackedKernelName(), element, available))
    return std::nullopt;
  for (bool sequenceFirst : {false, true})
    if (std::optional<Packing> packing = packingOf(op, sequenceFirst))
      return packing;
  return std::nullopt;
}

std::optional<Packing>
UsePackedAttentionPass::packingOf(train::HeadLayoutOpInterface op,
                                  bool sequenceFirst) {
  MutableArrayRef<OpOperand> operands = packedOperands(op);
  Value query = operands[0].get(), key = operands[1].get();
  ArrayRef<int64_t> extents = extentsOf(query);
  Packing packing{
      op,
      train::stridedViewOf(query).source,
      {extents[0], extents[2], extents[1] + 2 * extentsOf(key)[1], extents[3]},
      sequenceFirst};
  if (sequenceFirst)
    std::swap(packing.shape[0], packing.shape[1]);
  if (ShapedType::getNumElements(extentsOf(packing.source)) !=
      ShapedType::getNumElements(packing.shape))
    return std::nullopt;
  for (auto [operand, first] : llvm::zip(operands, firstHeads(op))) {
    Value part = operand.get();
    if (extentsOf(part)[2] != extents[2] || extentsOf(part)[3] != extents[3] ||
        !(train::stridedViewOf(part) ==
          viewOfPart(part, packing.source, first, packing)))
      return std::nullopt;
  }
  if (op.getResultsWithHeads().size() == 3) {
    packing.gradient = findGradient(packing);
    if (!packing.gradient)
      return std::nullopt;
  }
  return packing;
}

void UsePackedAttentionPass::pack(const Packing &packing) {
  train::HeadLayoutOpInterface op = packing.op;
  HeadOrder order = packing.sequenceFirst ? kSequenceFirst : kBatchFirst;
  OpBuilder builder(op);
  SmallVector<Value> operands;
  unsigned first = op.getFirstPackedOperand();
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    if (number == first)
      operands.push_back(train::reshapeTo(builder, op->getLoc(), packing.source,
                                          packing.shape));
    else if (number >= op.getOperandsWithHeads().size())
      operands.push_back(operand.get());
    else if (number < first || number > first + 2)
      operands.push_back(
          orderHeads(builder, op->getLoc(), operand.get(), order));
  }
  Operation *made = op.buildPacked(builder, operands, packing.sequenceFirst);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  if (packing.gradient) {
    Value gradient = train::reshapeTo(builder, op->getLoc(), made->getResult(0),
                                      extentsOf(packing.gradient));
    Value old = packing.gradient;
    old.replaceAllUsesWith(gradient);
    return;
  }
  op->getResults().drop_front().replaceAllUsesWith(
      made->getResults().drop_front());
  replaceByOrdered(builder, op->getResult(0), made->getResult(0), order);
}
