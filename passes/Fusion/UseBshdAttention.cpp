//===- UseBshdAttention.cpp - Attention without transposes of heads -------===//
//
// Implements mpc-use-bshd-attention from the table in kernels/catalog.def.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/Ops/Recompute/Recompute.h"
#include "passes/Fusion/Heads/HeadTransposes.h"
#include "passes/Fusion/Passes.h"
#include "passes/Grad/EntryPoints.h"

#include "mlir/IR/TypeUtilities.h"
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
// Groups of ops
//===----------------------------------------------------------------------===//

/// The bytes that a transpose of heads of `value` moves.
static int64_t bytesMoved(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getDimSize(1) == 1 || type.getDimSize(2) == 1)
    return 0;
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

namespace {

/// Ops that share operands or read each other's results.
class AttentionGroup {
public:
  explicit AttentionGroup(ArrayRef<train::HeadLayoutOpInterface> group)
      : ops(group.begin(), group.end()) {}
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
        operand.set(
            orderHeads(builder, op->getLoc(), operand.get(), kBatchFirst));
      op.setBshdLayout();
      for (Value result : op.getResultsWithHeads()) {
        auto type = cast<RankedTensorType>(result.getType());
        SmallVector<int64_t> shape(type.getShape());
        std::swap(shape[1], shape[2]);
        result.setType(type.clone(shape));
        builder.setInsertionPointAfter(op);
        replaceByOrdered(builder, result, result, kBatchFirst);
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
    if (!getHeadTranspose(source, kSwapHeads))
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
      else if (user->getNumResults() == 1 &&
               getHeadTranspose(user->getResult(0), kSwapHeads))
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
    for (ArrayRef<train::HeadLayoutOpInterface> list : groupsOf(ops)) {
      AttentionGroup group(list);
      if (group.bytesSaved() <= 0) {
        LDBG() << "no transposes saved for " << group.front();
        continue;
      }
      group.changeLayout();
      hasChanged = true;
    }
    if (hasChanged)
      eraseDeadOps(getOperation());
  }
};

} // namespace
