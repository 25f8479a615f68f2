//===- VerifyRecompute.cpp - Verify recomputed ops ------------------------===//

#include "compiler/Dialect/Train/Ops/Recompute/Recompute.h"
#include "passes/Recompute/Passes.h"
#include "passes/Recompute/StepGraph.h"
#include "passes/StageFaults.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mpc {
#define GEN_PASS_DEF_VERIFYRECOMPUTEPASS
#include "passes/Recompute/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// All attributes but the mark.
static DictionaryAttr attributesOf(Operation *op) {
  NamedAttrList list(op->getAttrDictionary());
  list.erase(kRecomputedAttr);
  return list.getDictionary(op->getContext());
}

namespace {

struct VerifyRecomputePass
    : mpc::impl::VerifyRecomputePassBase<VerifyRecomputePass>,
      StageFaults {
  using Base::Base;

  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      std::optional<StepGraph> graph;
      if (!func.isExternal())
        graph = StepGraph::find(func);
      originals.clear();
      func.walk([&](Operation *op) {
        if (auto barrier = dyn_cast<train::RematBarrierOp>(op))
          verifyBarrier(barrier, graph);
        else if (op->hasAttr(kRecomputedAttr))
          verifyCopy(op, graph);
      });
    }
    if (failed)
      signalPassFailure();
  }

private:
  void fault(Operation *op, const Twine &message) {
    fail(op->getLoc(), "mpc-recompute", message);
  }

  void verifyBarrier(train::RematBarrierOp barrier,
                     const std::optional<StepGraph> &graph) {
    originals[barrier.getResult()] = barrier.getValue();
    auto isForward = [&](Value value) {
      Operation *def = value.getDefiningOp();
      return !def || (graph && graph->isForward(def));
    };
    if (!isForward(barrier.getValue()))
      fault(
          barrier,
          "a rematerialisation barrier must carry a value of the forward pass");
    if (isForward(barrier.getAfter()))
      fault(barrier,
            "rematerialised ops must wait for a value of the backward pass");
  }

  /// The forward op that the recomputed `op` copies; null if there is none.
  Operation *findTwin(Operation *op, const std::optional<StepGraph> &graph) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(originals.lookup_or(operand, operand));
    for (Operation *user : operands[0].getUsers())
      if (graph && graph->isForward(user) && user->getName() == op->getName() &&
          llvm::equal(user->getOperands(), operands) &&
          llvm::equal(user->getResultTypes(), op->getResultTypes()) &&
          attributesOf(user) == attributesOf(op))
        return user;
    return nullptr;
  }

  void verifyCopy(Operation *op, const std::optional<StepGraph> &graph) {
    if (!isPure(op))
      return fault(op, "an op with side effects must not be recomputed");
    if (op->getNumOperands() == 0)
      return fault(op, "an op without operands must not be recomputed");
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp();
          !originals.contains(operand) &&
          !(def && def->hasTrait<OpTrait::ConstantLike>()))
        return fault(op, "rematerialised ops must read forward values through "
                         "train.remat_barrier");
    Operation *twin = findTwin(op, graph);
    if (!twin)
      return fault(op, "a recomputed op must be a copy of a forward op");
    for (auto [result, original] :
         llvm::zip(op->getResults(), twin->getResults()))
      originals[result] = original;
  }

  /// Barrier results and recomputed values -> the original forward values.
  llvm::DenseMap<Value, Value> originals;
};

} // namespace
