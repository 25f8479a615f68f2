//===- DeferStates.cpp - Micro-batches change nothing by themselves -------===//
//
// Implements mpc-defer-states.
//
//===----------------------------------------------------------------------===//

#include "passes/Grad/EntryPoints.h"
#include "passes/Grad/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

namespace mpc {
#define GEN_PASS_DEF_DEFERSTATESPASS
#include "passes/Grad/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// The state in which micro-batches advance `state`; null, with an error, if
/// its name is taken. Statistics go where gradients go: a checkpoint has the
/// model's own among its weights.
static train::StateOp createPending(ModuleOp module, train::StateOp state) {
  std::string name = (train::kPendingPrefix + state.getSymName()).str();
  if (Operation *other = module.lookupSymbol(name)) {
    emitError(other->getLoc()) << "'" << name << "' is the name of a state "
                               << "that gradient accumulation needs";
    return nullptr;
  }
  bool isControl = state.getKind() == train::StateKind::Control;
  auto kind =
      isControl ? train::StateKind::Control : train::StateKind::Optimizer;
  return createState(module, name, kind,
                     cast<RankedTensorType>(state.getType()),
                     state.getInitialValueAttr(), /*slots=*/nullptr);
}

namespace {

struct DeferStatesPass : mpc::impl::DeferStatesPassBase<DeferStatesPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto accumulate = module.lookupSymbol<func::FuncOp>("accumulate");
    auto apply = module.lookupSymbol<func::FuncOp>("apply");
    if (!accumulate || !apply)
      return;
    // What apply writes as well carries sums from one to the other.
    llvm::StringSet<> carried;
    for (auto write : apply.front().getOps<train::WriteOp>())
      carried.insert(write.getState());
    SmallVector<train::WriteOp> writes(
        accumulate.front().getOps<train::WriteOp>());
    for (train::WriteOp write : writes)
      if (!carried.contains(write.getState()) &&
          failed(defer(write, accumulate, apply)))
        return signalPassFailure();
  }

private:
  /// Lets `write` and all reads of its state go to the pending one, which
  /// `apply` takes over.
  LogicalResult defer(train::WriteOp write, func::FuncOp accumulate,
                      func::FuncOp apply) {
    auto state = getOperation().lookupSymbol<train::StateOp>(write.getState());
    train::StateOp pending = createPending(getOperation(), state);
    if (!pending)
      return failure();
    for (auto read : accumulate.front().getOps<train::ReadOp>())
      if (read.getState() == state.getSymName())
        read.setState(pending.getSymName());
    write.setState(pending.getSymName());
    OpBuilder builder(getReturn(apply));
    Location loc = write.getLoc();
    Value value = train::ReadOp::create(builder, loc, pending.getType(),
                                        pending.getSymName());
    train::WriteOp::create(builder, loc, state.getSymName(), value);
    return success();
  }
};

} // namespace
