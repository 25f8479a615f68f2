//===- UseBshdAttention.cpp - Attention without transposes of heads -------===//
//
// Implements mpc-use-bshd-attention from the table in kernels/catalog.def.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/Ops/Recompute/Recompute.h"
#include "passes/Fusion/Passes.h"

#include "mlir/IR/Iterators.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "mpc-use-bshd-attention"

namespace mpc {
#define GEN_PASS_DEF_USEBSHDATTENTIONPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

//===----------------------------------------------------------------------===//
// Transposes of heads
//===----------------------------------------------------------------------===//

static constexpr int64_t kSwapHeads[] = {0, 2, 1, 3};

/// The op that defines `value` if it exchanges heads and rows and does nothing
/// else; or null.
static train::TransposeOp getSwap(Value value) {
  auto transpose = value.getDefiningOp<train::TransposeOp>();
  if (!transpose || transpose.getPermutation() != ArrayRef(kSwapHeads) ||
      getElementTypeOrSelf(transpose.getInput()) != getElementTypeOrSelf(value))
    return nullptr;
  return transpose;
}

/// The bytes that a transpose of heads of `value` moves.
static int64_t bytesMoved(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getDimSize(1) == 1 || type.getDimSize(2) == 1)
    return 0;
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

/// True if the use only says after which value others may be computed.
static bool isOnlyOrder(OpOperand &use) {
  auto barrier = dyn_cast<train::RematBarrierOp>(use.getOwner());
  return barrier && &use == &barrier.getAfterMutable();
}

/// `value` with heads and rows exchanged.
static Value swapHeads(OpBuilder &builder, Location loc, Value value) {
  if (train::TransposeOp swap = getSwap(value))
    return swap.getInput();
  if (auto barrier = value.getDefiningOp<train::RematBarrierOp>())
    if (getSwap(train::skipBarriers(value)))
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
    if (getSwap(user->getResult(0))) {
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

//===----------------------------------------------------------------------===//
// Groups of ops
//===----------------------------------------------------------------------===//

namespace {

/// Ops that share operands or read each other's results.
class AttentionGroup {
public:
  void add(train::HeadLayoutOpInterface op) { ops.insert(op); }
  train::HeadLayoutOpInterface front() const { return ops.front(); }

  /// The bytes of transposes that disappear, less those of new transposes, if
  /// all ops of the group change their layout.
  int64_t bytesSaved() const {
    int64_t saved = 0;
    llvm::SmallDenseSet<Value> seen;
    for (train::HeadLayoutOpInterface op : ops) {
      for (OpOperand &operand : op.getOperandsWithHeads())
        if (Value value = operand.get(); seen.insert(value).second)
          saved += bytesSavedBefore(value);
      for (Value result : op.getResultsWithHeads())
        saved += bytesSavedAfter(result);
    }
    return saved;
  }

  void changeLayout() const {
    for (train::HeadLayoutOpInterface op : ops) {
      OpBuilder builder(op);
      for (OpOperand &operand : op.getOperandsWithHeads())
        operand.set(swapHeads(builder, op->getLoc(), operand.get()));
      op.setBshdLayout();
      for (Value result : op.getResultsWithHeads()) {
        auto type = cast<RankedTensorType>(result.getType());
        SmallVector<int64_t> shape(type.getShape());
        std::swap(shape[1], shape[2]);
        result.setType(type.clone(shape));
        builder.setInsertionPointAfter(op);
        auto swap = train::TransposeOp::create(
            builder, op->getLoc(), result,
            builder.getDenseI64ArrayAttr(kSwapHeads));
        result.replaceUsesWithIf(swap, [&](OpOperand &use) {
          return use.getOwner() != swap && !isOnlyOrder(use);
        });
        useSwapped(builder, swap, result);
      }
    }
  }

private:
  bool reads(OpOperand &use) const {
    auto op = dyn_cast<train::HeadLayoutOpInterface>(use.getOwner());
    return op && ops.contains(op) &&
           use.getOperandNumber() < op.getOperandsWithHeads().size();
  }

  int64_t bytesSavedBefore(Value value) const {
    Value source = train::skipBarriers(value);
    // `bytesSavedAfter` counts results of the group.
    auto maker = source.getDefiningOp<train::HeadLayoutOpInterface>();
    if (maker && ops.contains(maker))
      return 0;
    if (!getSwap(source))
      return -bytesMoved(value);
    bool isReadElsewhere =
        value != source || llvm::any_of(value.getUses(), [&](OpOperand &use) {
          return !reads(use);
        });
    return isReadElsewhere ? 0 : bytesMoved(value);
  }

  int64_t bytesSavedAfter(Value result) const {
    int64_t saved = 0;
    bool isReadElsewhere = false;
    countUsers(result, saved, isReadElsewhere);
    return isReadElsewhere ? saved - bytesMoved(result) : saved;
  }

  /// Adds the bytes of the transposes among the users of `result`.
  void countUsers(Value result, int64_t &saved, bool &isReadElsewhere) const {
    for (OpOperand &use : result.getUses()) {
      if (reads(use) || isOnlyOrder(use))
        continue;
      Operation *user = use.getOwner();
      if (auto barrier = dyn_cast<train::RematBarrierOp>(user))
        countUsers(barrier.getResult(), saved, isReadElsewhere);
      else if (user->getNumResults() == 1 && getSwap(user->getResult(0)))
        saved += bytesMoved(result);
      else
        isReadElsewhere = true;
    }
  }

  llvm::SetVector<train::HeadLayoutOpInterface>
      ops; ///< In the order of the function.
};

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

struct UseBshdAttentionPass
    : mpc::impl::UseBshdAttentionPassBase<UseBshdAttentionPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<StringRef> available;
    StringRef(features).split(available, ',');
    SmallVector<train::HeadLayoutOpInterface> ops;
    getOperation().walk([&](train::HeadLayoutOpInterface op) {
      StringRef kernel = op.getBshdKernelName();
      Type element =
          getElementTypeOrSelf(op.getOperandsWithHeads().front().get());
      if (!kernel.empty() && device->computesIn(kernel, element, available))
        ops.push_back(op);
    });
    bool hasChanged = false;
    for (const AttentionGroup &group : groupsOf(ops)) {
      if (group.bytesSaved() <= 0) {
        LDBG() << "no transposes saved for " << group.front();
        continue;
      }
      group.changeLayout();
      hasChanged = true;
    }
    if (hasChanged)
      eraseUnused();
  }

private:
  static SmallVector<AttentionGroup>
  groupsOf(ArrayRef<train::HeadLayoutOpInterface> ops) {
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
    llvm::MapVector<Operation *, AttentionGroup> groups;
    for (train::HeadLayoutOpInterface op : ops)
      groups[joined.getLeaderValue(op)].add(op);
    SmallVector<AttentionGroup> list;
    for (auto &[leader, group] : groups)
      list.push_back(std::move(group));
    return list;
  }

  void eraseUnused() {
    // In reverse order, because users come later.
    getOperation().walk<WalkOrder::PostOrder, ReverseIterator>(
        [&](Operation *op) {
          auto transpose = dyn_cast<train::TransposeOp>(op);
          auto barrier = dyn_cast<train::RematBarrierOp>(op);
          if ((transpose || barrier) && op->use_empty())
            op->erase();
        });
  }
};

} // namespace
