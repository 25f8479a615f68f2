//===- GuardStates.cpp - Keep states if a step is not finite --------------===//
//
// Implements mpc-guard-states. It runs after all passes that add writes of
// states, including working copies: later writes are not guarded.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "passes/Grad/EntryPoints.h"
#include "passes/Precision/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "mpc-guard-states"

namespace mpc {
#define GEN_PASS_DEF_GUARDSTATESPASS
#include "passes/Precision/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// The values that decide whether a step is applied: the norm of the gradients,
/// which is finite only if all gradients are, or the gradients themselves if
/// there is no norm; and the loss, with accumulation that of all micro-batches.
/// Empty if there are no gradients.
static SmallVector<Value> findTested(func::FuncOp func) {
  SmallVector<Value> tested = findGradientPacks(func);
  train::StateOp sums = Program::around(func).carriedGradients();
  if (tested.empty() && sums)
    if (train::ReadOp read = train::findRead(func, sums))
      tested.push_back(read);
  if (tested.empty())
    return {};
  for (Value &gradients : tested)
    for (Operation *user : gradients.getUsers())
      if (auto norm = dyn_cast<train::GlobalNormOp>(user))
        gradients = norm.getResult();
  if (Value loss = outputNamed(func, "loss"))
    tested.push_back(loss);
  return tested;
}

namespace {

struct GuardStatesPass : mpc::impl::GuardStatesPassBase<GuardStatesPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (updatesParameters(func))
        functions.push_back(func);
    llvm::StringSet<> carried = findCarriedStates(getOperation());
    for (func::FuncOp func : functions)
      if (failed(guard(func, carried)))
        return signalPassFailure();
  }

private:
  LogicalResult guard(func::FuncOp func, const llvm::StringSet<> &carried) {
    LDBG() << "guarding " << train::entryName(func);
    SmallVector<Value> tested = findTested(func);
    if (tested.empty())
      return emitError(func.getLoc())
             << "'" << train::entryName(func)
             << "' trains, but packs no gradients that could be tested";
    Operation *end = func.front().getTerminator();
    OpBuilder builder(end);
    Location loc = tested[0].getLoc();
    Value finite = amp::AllFiniteOp::create(builder, loc, tested);
    amp::setDecision(finite.getDefiningOp(), {Rule::GuardedStep});
    Value updated = guardWrites(builder, func, finite, carried);
    addOutput(func, finite, "finite");
    addOutput(func, updated, "update_finite");
    return success();
  }

  /// Guards all writes and moves them after everything they now depend on.
  /// Returns whether the new values of the parameters are finite.
  Value guardWrites(OpBuilder &builder, func::FuncOp func, Value finite,
                    const llvm::StringSet<> &carried) {
    SmallVector<train::WriteOp> writes(func.front().getOps<train::WriteOp>());
    auto isCopy = [](train::WriteOp write) {
      return write.getStateOp().getKind() == train::StateKind::WorkingCopy;
    };
    // Guard masters before the copies that are rounded from them.
    llvm::stable_sort(writes, [&](train::WriteOp l, train::WriteOp r) {
      return !isCopy(l) && isCopy(r);
    });
    llvm::StringMap<Value> kept;
    SmallVector<Value> weights;
    for (train::WriteOp write : writes) {
      if (write.getStateOp().getKind() == train::StateKind::Parameter)
        weights.push_back(write.getValue());
      if (!carried.contains(write.getState()))
        guardWrite(builder, func, write, finite, kept);
      write->moveBefore(func.front().getTerminator());
    }
    // After the selects: fusion follows program order, and must fuse the
    // selects with the update.
    auto updated =
        amp::AllFiniteOp::create(builder, weights[0].getLoc(), weights);
    amp::setDecision(updated, {Rule::GuardedWeights});
    return updated;
  }

  /// Makes `write` keep the old value in a step that is not finite. A working
  /// copy is rounded from the selected masters, so that its old value need not
  /// be read.
  void guardWrite(OpBuilder &builder, func::FuncOp func, train::WriteOp write,
                  Value finite, llvm::StringMap<Value> &kept) {
    train::StateOp state = write.getStateOp();
    Value value = write.getValue();
    auto cast = value.getDefiningOp<amp::CastOp>();
    if (state.getKind() == train::StateKind::WorkingCopy && cast) {
      auto it = kept.find(*state.getOf());
      assert(it != kept.end() && "masters are written with their copy");
      auto rounded = amp::CastOp::create(builder, cast.getLoc(),
                                         value.getType(), it->second);
      rounded->setDiscardableAttrs(cast->getDiscardableAttrDictionary());
      write.getValueMutable().assign(rounded);
      if (cast->use_empty())
        cast.erase();
      return;
    }
    Value committed = amp::SelectIfFiniteOp::create(
        builder, write.getLoc(), value, getOrCreateRead(func, state), finite);
    write.getValueMutable().assign(committed);
    kept[state.getSymName()] = committed;
    // Pending states take the selected value, too: the next micro-batches
    // continue from it.
    Program program(getOperation());
    for (StateRole role : {StateRole::Pending, StateRole::PendingControl})
      if (train::StateOp pending = program.state(role, state))
        train::WriteOp::create(builder, write.getLoc(), pending, committed);
  }
};

} // namespace
