//===- VerifyGraph.cpp - Verify the IR after the graph stage --------------===//
//
// Implements mpc-verify-graph. Reports all faults, not only the first.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/IR/Program.h"
#include "passes/Graph/Passes.h"
#include "passes/StageFaults.h"

#include "llvm/ADT/StringSet.h"

namespace mpc {
#define GEN_PASS_DEF_VERIFYGRAPHPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using train::entryName;
using train::EntryRole;

namespace {

struct VerifyGraphPass : mpc::impl::VerifyGraphPassBase<VerifyGraphPass>,
                         StageFaults {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable table(module);
    symbols = &table;
    SmallVector<EntryRole> roles = {EntryRole::Predict};
    if (module->hasAttr(kImportedStepAttr))
      roles.append({EntryRole::Evaluate, EntryRole::Train});
    for (Operation &op : *module.getBody()) {
      auto func = dyn_cast<func::FuncOp>(op);
      if (func && llvm::any_of(roles, [&](EntryRole role) {
            return train::hasRole(func, role);
          }))
        verifyFunction(func);
      else if (func && roles.size() > 1 &&
               train::hasRole(func, EntryRole::Initialize))
        verifyInitialize(func);
      else if (!isa<train::StateOp>(op))
        fail(op.getLoc(), "import",
             "a model holds states and the entry 'predict', plus 'evaluate' "
             "and 'train' if it brings its own training step");
    }
    for (EntryRole role : roles)
      if (!train::Program(module).entry(role))
        fail(module.getLoc(), "import",
             "the model has no entry '" + stringifyEntryRole(role) + "'");
    if (failed)
      signalPassFailure();
  }

  void verifyFunction(func::FuncOp func) {
    if (!llvm::hasSingleElement(func.getBody()))
      return fail(func.getLoc(), "import",
                  "'" + entryName(func) + "' must have exactly one block");

    llvm::StringSet<> inputs, outputs;
    for (unsigned i = 0; i < func.getNumArguments(); ++i) {
      verifyName(func, "input", i, func.getArgAttr(i, kNameAttr), inputs);
      verifyType(func.getLoc(), func.getArgument(i).getType(),
                 "input " + Twine(i));
    }
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      if (!func.getResultAttr(i, kGradientOfAttr))
        verifyName(func, "output", i, func.getResultAttr(i, kNameAttr),
                   outputs);

    for (Operation &op : func.front())
      if (!isa<func::ReturnOp>(op))
        verifyOp(op, func);
  }

  /// Checks that `initialize` returns values of states and has no inputs.
  void verifyInitialize(func::FuncOp func) {
    verifyFunction(func);
    if (func.getNumArguments() > 0)
      fail(func.getLoc(), "import", "'initialize' must have no inputs");
    for (auto [i, type] : llvm::enumerate(func.getResultTypes())) {
      auto name = func.getResultAttrOfType<StringAttr>(i, kNameAttr);
      auto state =
          name ? symbols->lookup<train::StateOp>(name.getValue()) : nullptr;
      if (!state || state.getType() != type)
        fail(func.getLoc(), "import",
             "output " + Twine(i) +
                 " of 'initialize' must have the name and the type of a state");
    }
  }

  /// Checks that inputs and outputs have unique names.
  void verifyName(func::FuncOp func, StringRef what, unsigned index,
                  Attribute attr, llvm::StringSet<> &names) {
    auto name = dyn_cast_or_null<StringAttr>(attr);
    if (!name)
      fail(func.getLoc(), "import",
           what + " " + Twine(index) + " of '" + entryName(func) +
               "' has no 'mpc.name'");
    else if (!names.insert(name.getValue()).second)
      fail(func.getLoc(), "import",
           "two " + what + "s of '" + entryName(func) + "' have the name '" +
               name.getValue() + "'");
  }

  void verifyType(Location loc, Type type, const Twine &what) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return fail(loc, "import", what + " must be a tensor of static shape");
    Type element = tensor.getElementType();
    if (element.isF16() || element.isBF16())
      fail(loc, "import", what + " must be f32 before the precision stage");
  }

  void verifyOp(Operation &op, func::FuncOp func) {
    if (!isa_and_nonnull<train::TrainDialect>(op.getDialect()))
      return fail(op.getLoc(), "import",
                  "'" + op.getName().getStringRef() +
                      "' is not an op of the train dialect");
    for (Value result : op.getResults())
      verifyType(op.getLoc(), result.getType(), "a result");

    if (auto read = dyn_cast<train::ReadOp>(op))
      if (!symbols->lookup<train::StateOp>(read.getState()))
        fail(op.getLoc(), "import",
             "reads '" + read.getState() + "', which is not a state");
    auto write = dyn_cast<train::WriteOp>(op);
    if (write && !train::hasRole(func, EntryRole::Train))
      fail(op.getLoc(), "import",
           "'" + entryName(func) + "' must not write states, but writes '" +
               write.getState() + "'");

    auto layout = dyn_cast<train::LayoutOpInterface>(op);
    if (layout && !layout.isChannelsLast())
      fail(op.getLoc(), "mpc-use-channels-last",
           "an op on images has channels first");
  }

  SymbolTable *symbols = nullptr; ///< The module's, during a run.
};

} // namespace
