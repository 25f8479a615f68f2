//===- HeadTransposes.cpp - Heads outside and inside the sequence ---------===//

#include "passes/Fusion/Heads/HeadTransposes.h"

#include "compiler/Dialect/Train/Ops/Recompute/Recompute.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mpc;

train::TransposeOp mpc::getHeadTranspose(Value value,
                                         ArrayRef<int64_t> permutation) {
  auto transpose = value.getDefiningOp<train::TransposeOp>();
  if (!transpose || transpose.getPermutation() != permutation ||
      getElementTypeOrSelf(transpose.getInput()) != getElementTypeOrSelf(value))
    return nullptr;
  return transpose;
}

bool mpc::isOnlyOrder(OpOperand &use) {
  auto barrier = dyn_cast<train::RematBarrierOp>(use.getOwner());
  return barrier && &use == &barrier.getAfterMutable();
}

Value mpc::orderHeads(OpBuilder &builder, Location loc, Value value,
                      HeadOrder order) {
  if (train::TransposeOp back = getHeadTranspose(value, order.back))
    return back.getInput();
  if (auto barrier = value.getDefiningOp<train::RematBarrierOp>())
    if (getHeadTranspose(train::skipBarriers(value), order.back))
      return train::RematBarrierOp::create(
          builder, loc, orderHeads(builder, loc, barrier.getValue(), order),
          barrier.getAfter());
  return train::TransposeOp::create(builder, loc, value,
                                    builder.getDenseI64ArrayAttr(order.there));
}

/// Lets the users of `value`, whose dimensions they are to order, use
/// `ordered`.
static void useOrdered(OpBuilder &builder, Value value, Value ordered,
                       HeadOrder order) {
  for (Operation *user : llvm::to_vector(value.getUsers())) {
    if (user->getNumResults() != 1)
      continue;
    if (getHeadTranspose(user->getResult(0), order.there)) {
      user->getResult(0).replaceAllUsesWith(ordered);
      continue;
    }
    auto barrier = dyn_cast<train::RematBarrierOp>(user);
    if (!barrier || barrier.getValue() != value)
      continue;
    builder.setInsertionPoint(barrier);
    Value behind = train::RematBarrierOp::create(builder, barrier.getLoc(),
                                                 ordered, barrier.getAfter());
    Value back =
        train::TransposeOp::create(builder, barrier.getLoc(), behind,
                                   builder.getDenseI64ArrayAttr(order.back));
    barrier.getResult().replaceAllUsesWith(back);
    useOrdered(builder, back, behind, order);
  }
}

void mpc::replaceByOrdered(OpBuilder &builder, Value old, Value made,
                           HeadOrder order) {
  auto back = train::TransposeOp::create(
      builder, made.getLoc(), made, builder.getDenseI64ArrayAttr(order.back));
  if (old != made)
    old.replaceUsesWithIf(made, isOnlyOrder);
  old.replaceUsesWithIf(back, [&](OpOperand &use) {
    return use.getOwner() != back && !isOnlyOrder(use);
  });
  useOrdered(builder, back, made, order);
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
