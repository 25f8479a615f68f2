//===- HeadTransposes.cpp - Heads outside and inside the sequence ---------===//

#include "passes/Fusion/Heads/HeadTransposes.h"

#include "compiler/Dialect/Train/Ops/Recompute/Recompute.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mpc;

static constexpr int64_t kSwapHeads[] = {0, 2, 1, 3};

train::TransposeOp mpc::getHeadSwap(Value value) {
  auto transpose = value.getDefiningOp<train::TransposeOp>();
  if (!transpose || transpose.getPermutation() != ArrayRef(kSwapHeads) ||
      getElementTypeOrSelf(transpose.getInput()) != getElementTypeOrSelf(value))
    return nullptr;
  return transpose;
}

bool mpc::isOnlyOrder(OpOperand &use) {
  auto barrier = dyn_cast<train::RematBarrierOp>(use.getOwner());
  return barrier && &use == &barrier.getAfterMutable();
}

Value mpc::swapHeads(OpBuilder &builder, Location loc, Value value) {
  if (train::TransposeOp swap = getHeadSwap(value))
    return swap.getInput();
  if (auto barrier = value.getDefiningOp<train::RematBarrierOp>())
    if (getHeadSwap(train::skipBarriers(value)))
      return train::RematBarrierOp::create(
          builder, loc, swapHeads(builder, loc, barrier.getValue()),
          barrier.getAfter());
  return train::TransposeOp::create(builder, loc, value,
                                    builder.getDenseI64ArrayAttr(kSwapHeads));
}

/// Lets the users of `value`, whose heads are to be exchanged, use `swapped`,
/// for which they are exchanged already.
static void useSwapped(OpBuilder &builder, Value value, Value swapped) {
  for (Operation *user : llvm::to_vector(value.getUsers())) {
    if (user->getNumResults() != 1)
      continue;
    if (getHeadSwap(user->getResult(0))) {
      user->getResult(0).replaceAllUsesWith(swapped);
      continue;
    }
    auto barrier = dyn_cast<train::RematBarrierOp>(user);
    if (!barrier || barrier.getValue() != value)
      continue;
    builder.setInsertionPoint(barrier);
    Value behind = train::RematBarrierOp::create(builder, barrier.getLoc(),
                                                 swapped, barrier.getAfter());
    Value back = swapHeads(builder, barrier.getLoc(), behind);
    barrier.getResult().replaceAllUsesWith(back);
    useSwapped(builder, back, behind);
  }
}

void mpc::replaceBySwapped(OpBuilder &builder, Value old, Value made) {
  auto swap = train::TransposeOp::create(
      builder, made.getLoc(), made, builder.getDenseI64ArrayAttr(kSwapHeads));
  if (old != made)
    old.replaceUsesWithIf(made, isOnlyOrder);
  old.replaceUsesWithIf(swap, [&](OpOperand &use) {
    return use.getOwner() != swap && !isOnlyOrder(use);
  });
  useSwapped(builder, swap, made);
}

SmallVector<SmallVector<train::HeadLayoutOpInterface>>
mpc::groupsOf(ArrayRef<train::HeadLayoutOpInterface> ops) {
  llvm::EquivalenceClasses<Operation *> joined;
  llvm::DenseMap<Value, Operation *> first;
  for (train::HeadLayoutOpInterface op : ops) {
    joined.insert(op);
    auto join = [&](Value value) {
      auto [it, isNew] = first.insert({train::skipBarriers(value), op});
      if (!isNew)
        joined.unionSets(op, it->second);
    };
    for (OpOperand &operand : op.getOperandsWithHeads())
      join(operand.get());
    for (Value result : op.getResultsWithHeads())
      join(result);
  }
  llvm::MapVector<Operation *, SmallVector<train::HeadLayoutOpInterface>>
      groups;
  for (train::HeadLayoutOpInterface op : ops)
    groups[joined.getLeaderValue(op)].push_back(op);
  return llvm::to_vector(
      llvm::map_range(groups, [](auto &entry) { return entry.second; }));
}
