//===- SplitStep.cpp - A step as forward and backward pass ----------------===//
//
// Implements mpc-split-step. Both entry points are copies of the step, without
// what the other one computes.
//
//===----------------------------------------------------------------------===//

#include "passes/Grad/EntryPoints.h"
#include "passes/Split/Passes.h"
#include "passes/Split/Residuals.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace mpc {
#define GEN_PASS_DEF_SPLITSTEPPASS
#include "passes/Split/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Keeps the results and arguments that are gradients, or those that are not.
static void keepSignature(func::FuncOp func, bool ofGradients) {
  SmallVector<Output> outputs;
  for (Output output : getOutputs(func)) {
    NamedAttrList attributes(output.attributes);
    if (bool(attributes.erase(kGradientOfAttr)) != ofGradients)
      continue;
    output.attributes = attributes.getDictionary(func.getContext());
    outputs.push_back(output);
  }
  setOutputs(func, outputs);
  eraseDeadOps(func);
  llvm::BitVector erased(func.getNumArguments());
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    erased[i] = bool(func.removeArgAttr(i, kGradientOfAttr)) != ofGradients;
  [[maybe_unused]] LogicalResult result = func.eraseArguments(erased);
  assert(succeeded(result) && "all arguments of the other half are unused");
}

namespace {

struct SplitStepPass : mpc::impl::SplitStepPassBase<SplitStepPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp step = Program(module).entry(EntryRole::Step);
    if (!module->hasAttr(kExternalLossAttr) || !step)
      return;
    Halves halves = findHalves(step);
    SmallVector<train::StateOp> states;
    for (auto [i, value] : llvm::enumerate(halves.residuals))
      states.push_back(Program(module).createState(
          StateRole::Residual, "residual/" + Twine(i), typeOf(value)));
    makeForward(step, halves, states);
    makeBackward(step, halves, states);
    step.erase();
  }

private:
  /// A copy of `step` as another entry point. Writes of states that depend on
  /// gradients, or all others, are left out.
  func::FuncOp copy(func::FuncOp step, EntryRole role, const Halves &halves,
                    bool ofGradients, IRMapping &copies) {
    auto made = cast<func::FuncOp>(step->clone(copies));
    made->removeAttr(train::kEntryAttr);
    Program program(getOperation());
    program.setRole(made, role);
    getOperation().insert(step, made);
    for (auto write : step.front().getOps<train::WriteOp>())
      if (halves.ofGradients.contains(write.getValue()) != ofGradients)
        copies.lookup(write.getOperation())->erase();
    return made;
  }

  void makeForward(func::FuncOp step, const Halves &halves,
                   ArrayRef<train::StateOp> states) {
    IRMapping copies;
    func::FuncOp forward =
        copy(step, EntryRole::Forward, halves, /*ofGradients=*/false, copies);
    OpBuilder builder(getReturn(forward));
    for (auto [value, state] : llvm::zip_equal(halves.residuals, states))
      train::WriteOp::create(builder, value.getLoc(), state,
                             copies.lookup(value));
    keepSignature(forward, /*ofGradients=*/false);
  }

  void makeBackward(func::FuncOp step, const Halves &halves,
                    ArrayRef<train::StateOp> states) {
    IRMapping copies;
    func::FuncOp backward =
        copy(step, EntryRole::Backward, halves, /*ofGradients=*/true, copies);
    OpBuilder builder = OpBuilder::atBlockBegin(&backward.front());
    for (auto [value, state] : llvm::zip_equal(halves.residuals, states))
      copies.lookup(value).replaceAllUsesWith(
          train::ReadOp::create(builder, value.getLoc(), state));
    keepSignature(backward, /*ofGradients=*/true);
  }
};

} // namespace
