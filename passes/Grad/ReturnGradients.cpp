//===- ReturnGradients.cpp - Leave the update to the caller ---------------===//
//
// Implements mpc-return-gradients. Gradients are results under names of their
// own; weights are packed as for an update, so that all later passes find them
// in one state.
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Locations.h"
#include "compiler/Support/Notes.h"
#include "passes/Grad/Passes.h"
#include "passes/Grad/Update/Packing.h"

#include "mlir/IR/Builders.h"

namespace mpc {
#define GEN_PASS_DEF_RETURNGRADIENTSPASS
#include "passes/Grad/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Counts the steps, if their random numbers are keyed by the count.
static void countSteps(func::FuncOp func) {
  train::StateOp counter = Program::around(func).state(StateRole::StepCount);
  if (!counter)
    return;
  Location loc = makeNodeLoc(func.getContext(), kOptimizerNode, "none");
  Value count = train::getOrCreateRead(func, counter);
  OpBuilder builder(getReturn(func));
  train::WriteOp::create(builder, loc, counter,
                         train::IncrementOp::create(builder, loc, count));
}

namespace {

struct ReturnGradientsPass
    : mpc::impl::ReturnGradientsPassBase<ReturnGradientsPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp func = Program(module).entry(EntryRole::Train);
    bool isDone = hasImportedStep(module) && !func; // Done by mpc-pack-updates.
    if (predictsOnly(module) || isDone)
      return;
    if (!func || failed(nameGradients(func)))
      return signalPassFailure();
    FailureOr<Packing> packing = computePacking(module);
    if (failed(packing) || failed(packParameters(module, *packing)))
      return signalPassFailure();
    countSteps(func);
    Program(module).setRole(func, EntryRole::Step);
    module->setAttr(kExternalUpdateAttr, UnitAttr::get(&getContext()));
    addNote(module, "update: by the caller: training returns gradients and "
                    "changes no weights");
  }

private:
  /// Names the gradients of parameters, which are the last results.
  LogicalResult nameGradients(func::FuncOp func) {
    SmallVector<Output> outputs = getOutputs(func);
    unsigned count = 0;
    for (Output &output : outputs) {
      auto of = output.attributes.getAs<StringAttr>(kGradientOfAttr);
      if (!of || output.attributes.get(kNameAttr))
        continue;
      NamedAttrList named(
          outputAttributes(&getContext(), gradientName(of.getValue())));
      named.set(kGradientOfAttr, of);
      output.attributes = named.getDictionary(&getContext());
      ++count;
    }
    if (count != Program(getOperation()).states(StateRole::Parameter).size())
      return func.emitError("'train' must return the gradient of each "
                            "parameter, but returns ")
             << count;
    setOutputs(func, outputs);
    return success();
  }
};

} // namespace
