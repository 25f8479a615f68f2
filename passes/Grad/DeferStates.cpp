//===- DeferStates.cpp - Defer state changes of micro-batches -------------===//
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

/// Creates the state that micro-batches update in place of `state`. Pending
/// statistics get the kind of gradient sums, because a checkpoint stores the
/// model's own statistics with its weights.
static train::StateOp createPending(Program program, train::StateOp state) {
  bool isNumber = state.getKind() == train::StateKind::Control;
  return program.createState(
      isNumber ? StateRole::PendingControl : StateRole::Pending,
      "pending/" + state.getSymName(), cast<RankedTensorType>(state.getType()),
      state.getInitialValueAttr(), /*slots=*/nullptr, state);
}

namespace {

struct DeferStatesPass : mpc::impl::DeferStatesPassBase<DeferStatesPass> {
  using Base::Base;

  void runOnOperation() override {
    Program program(getOperation());
    func::FuncOp accumulate = program.entry(EntryRole::Accumulate);
    func::FuncOp apply = program.entry(EntryRole::Apply);
    if (!accumulate || !apply)
      return;
    // States that apply writes as well carry sums from accumulate to apply, as
    // do the gradients, which a single micro-batch does not add up.
    llvm::StringSet<> carried;
    if (train::StateOp sum = program.carriedGradients())
      carried.insert(sum.getSymName());
    for (auto write : apply.front().getOps<train::WriteOp>())
      carried.insert(write.getState());
    SmallVector<train::WriteOp> writes(
        accumulate.front().getOps<train::WriteOp>());
    for (train::WriteOp write : writes)
      if (!carried.contains(write.getState()))
        defer(program, write, accumulate, apply);
  }

private:
  /// Redirects `write` and all reads of its state to the pending state, whose
  /// value `apply` copies back.
  static void defer(Program program, train::WriteOp write,
                    func::FuncOp accumulate, func::FuncOp apply) {
    train::StateOp state = write.getStateOp();
    train::StateOp pending = createPending(program, state);
    for (auto read : accumulate.front().getOps<train::ReadOp>())
      if (read.getState() == state.getSymName())
        read.setState(pending.getSymName());
    write.setState(pending.getSymName());
    OpBuilder builder(getReturn(apply));
    Location loc = write.getLoc();
    Value value = train::ReadOp::create(builder, loc, pending);
    train::WriteOp::create(builder, loc, state, value);
  }
};

} // namespace
