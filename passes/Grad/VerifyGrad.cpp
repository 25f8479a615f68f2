//===- VerifyGrad.cpp - Verify the IR after the gradient stage ------------===//
//
// Implements mpc-verify-grad. Reports all faults, not only the first.
//
//===----------------------------------------------------------------------===//

#include "passes/Grad/EntryPoints.h"
#include "passes/Grad/Passes.h"
#include "passes/StageFaults.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace mpc {
#define GEN_PASS_DEF_VERIFYGRADPASS
#include "passes/Grad/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using train::entryName;

namespace {

struct VerifyGradPass : mpc::impl::VerifyGradPassBase<VerifyGradPass>,
                        StageFaults {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable table(module);
    symbols = &table;
    if (predictsOnly(module)) {
      verifyPredictAlone();
    } else {
      verifyEntryPoints();
      verifyParameters();
    }
    for (auto func : module.getOps<func::FuncOp>())
      verifyFunction(func);
    if (failed)
      signalPassFailure();
  }

private:
  func::FuncOp find(EntryRole role) {
    return Program(getOperation()).entry(role);
  }

  void verifyPredictAlone() {
    if (!find(EntryRole::Predict))
      fail(getOperation().getLoc(), "import", "there is no entry 'predict'");
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!train::hasRole(func, EntryRole::Predict))
        fail(func.getLoc(), "mpc-add-loss",
             "'" + entryName(func) + "' trains a model without parameters");
    for (train::StateOp state :
         Program(getOperation()).states(StateRole::Parameter))
      fail(state.getLoc(), "import",
           "parameter '" + state.getSymName() + "' is not trained");
  }

  void verifyEntryPoints() {
    ModuleOp module = getOperation();
    static constexpr EntryRole kKnown[] = {
        EntryRole::Predict,    EntryRole::Evaluate, EntryRole::Step,
        EntryRole::Accumulate, EntryRole::Apply,    EntryRole::Initialize};
    for (auto func : module.getOps<func::FuncOp>())
      if (llvm::none_of(kKnown, [&](EntryRole role) {
            return train::hasRole(func, role);
          }))
        fail(func.getLoc(), "mpc-add-optimizer",
             "'" + entryName(func) + "' is not an entry point");
    bool hasLoss = !module->hasAttr(kExternalLossAttr);
    bool hasUpdate = !module->hasAttr(kExternalUpdateAttr);
    for (EntryRole role : {EntryRole::Predict, EntryRole::Evaluate})
      if (!find(role) && (hasLoss || role == EntryRole::Predict))
        fail(module.getLoc(), "mpc-add-loss",
             "there is no entry '" + stringifyEntryRole(role) + "'");

    func::FuncOp step = find(EntryRole::Step),
                 accumulate = find(EntryRole::Accumulate),
                 apply = find(EntryRole::Apply);
    if (bool(accumulate) != bool(apply) || bool(step) == bool(accumulate))
      fail(module.getLoc(), "mpc-add-optimizer",
           "there must be either 'step' or 'accumulate' and 'apply'");
    if (hasUpdate)
      verifyScalars(step, {"loss", "grad_norm"});
    else
      verifyGradients(step);
    verifyScalars(accumulate, {"loss"});
    verifyScalars(apply, {"loss", "grad_norm"});
    verifySamples(find(EntryRole::Evaluate));
  }

  /// Checks that the function returns these rank-0 floats, optionally the
  /// learning rate of the step, and nothing else.
  void verifyScalars(func::FuncOp func, ArrayRef<StringRef> names) {
    if (!func)
      return;
    unsigned numResults = func.getNumResults();
    bool right = numResults == names.size() || numResults == names.size() + 1;
    for (unsigned i = 0; right && i < numResults; ++i) {
      auto type = dyn_cast<RankedTensorType>(func.getResultTypes()[i]);
      StringRef name = i < names.size() ? names[i] : "learning_rate";
      right = resultName(func, i) == name && type && type.getRank() == 0 &&
              isa<FloatType>(type.getElementType());
    }
    if (!right)
      fail(func.getLoc(), "mpc-add-optimizer",
           "'" + entryName(func) + "' must return " + llvm::join(names, ", ") +
               ", of rank 0");
  }

  /// Checks that the function returns the gradients of all tensors in the pack
  /// of parameters after its other results.
  void verifyGradients(func::FuncOp func) {
    if (!func)
      return;
    SmallVector<StringRef> found;
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      if (auto of = func.getResultAttrOfType<StringAttr>(i, kGradientOfAttr))
        found.push_back(of.getValue());
    for (train::StateOp state :
         Program(getOperation()).states(StateRole::Parameter))
      for (auto slot : state.getSlots()->getAsRange<train::SlotAttr>())
        if (!llvm::is_contained(found, slot.getName()))
          fail(func.getLoc(), "mpc-return-gradients",
               "'" + entryName(func) + "' must return the gradient of '" +
                   slot.getName() + "'");
  }

  /// Checks that `evaluate` returns one loss, or vectors with one element per
  /// sample; for a sum of losses, also one for each.
  void verifySamples(func::FuncOp func) {
    if (!func)
      return;
    SmallVector<StringRef> names;
    llvm::SmallDenseSet<int64_t> ranks, extents;
    for (unsigned i = 0; i < func.getNumResults(); ++i) {
      // The losses of a sum have the names of their outputs.
      if (!resultName(func, i).starts_with("sample_loss:"))
        names.push_back(resultName(func, i));
      auto type = cast<RankedTensorType>(func.getResultTypes()[i]);
      ranks.insert(type.getRank());
      extents.insert(type.getRank() == 0 ? 0 : type.getDimSize(0));
    }
    std::string all = llvm::join(names, ",");
    bool scalar = all == "loss" && ranks.contains(0);
    bool samples = (all == "sample_loss,sample_weight" ||
                    all == "sample_loss,sample_weight,sample_correct" ||
                    all == "sample_loss,sample_weight,sample_correct,"
                           "sample_counted") &&
                   ranks.size() == 1 && ranks.contains(1) &&
                   extents.size() == 1;
    if (!scalar && !samples)
      fail(func.getLoc(), "mpc-add-loss",
           "'evaluate' must return loss, or sample_loss, sample_weight and "
           "perhaps sample_correct and sample_counted, of one length");
  }

  /// Checks that one packed state holds all parameters.
  void verifyParameters() {
    unsigned packs = 0;
    for (auto state : getOperation().getOps<train::StateOp>()) {
      if (state.getKind() != train::StateKind::Parameter)
        continue;
      packs += state.getSlots().has_value();
      if (!state.getSlots())
        fail(state.getLoc(), "mpc-add-optimizer",
             "parameter '" + state.getSymName() + "' is not packed");
    }
    if (packs != 1)
      fail(getOperation().getLoc(), "mpc-add-optimizer",
           "there must be one packed parameter state, but there are " +
               Twine(packs));
  }

  void verifyFunction(func::FuncOp func) {
    if (!llvm::hasSingleElement(func.getBody()))
      return fail(func.getLoc(), "import",
                  "'" + entryName(func) + "' must have exactly one block");
    llvm::StringSet<> written;
    unsigned seeds = 0, packReads = 0;
    for (Operation &op : func.front().without_terminator()) {
      if (auto write = dyn_cast<train::WriteOp>(op))
        verifyWrite(func, write, written);
      if (auto read = dyn_cast<train::ReadOp>(op))
        packReads += verifyRead(read);
      auto form = dyn_cast<train::TrainingFormOpInterface>(op);
      if (train::isTrainingEntry(func) && form && !form.keepsFormInTraining())
        fail(op.getLoc(), "mpc-use-training-form",
             "'" + op.getName().getStringRef() +
                 "' is an inference form, but '" + entryName(func) +
                 "' trains");
      if (op.hasTrait<train::StopsGradient>())
        fail(op.getLoc(), "mpc-differentiate",
             "'" + op.getName().getStringRef() +
                 "' must be gone: there is no gradient left to stop");
      seeds += op.hasAttr(kLossSeedAttr);
    }
    if (packReads > 1)
      fail(func.getLoc(), "mpc-add-optimizer",
           "'" + entryName(func) + "' reads the parameters more than once");
    // A model's own step may have any number of gradient packs.
    bool isOwn =
        hasImportedStep(getOperation()) && train::isTrainingEntry(func);
    if (!isOwn && seeds != (train::isTrainingEntry(func) ? 1 : 0))
      fail(func.getLoc(), "mpc-differentiate",
           "'" + entryName(func) + "' has " + Twine(seeds) +
               " constants marked mpc.loss_seed");
  }

  /// Returns true if the op reads parameters.
  bool verifyRead(train::ReadOp read) {
    auto state = symbols->lookup<train::StateOp>(read.getState());
    if (!state)
      fail(read.getLoc(), "mpc-add-optimizer",
           "reads '" + read.getState() + "', which is not a state");
    return state && state.getKind() == train::StateKind::Parameter;
  }

  void verifyWrite(func::FuncOp func, train::WriteOp write,
                   llvm::StringSet<> &written) {
    StringRef name = write.getState();
    if (!train::isTrainingEntry(func) &&
        !train::hasRole(func, EntryRole::Apply))
      fail(write.getLoc(), "mpc-use-training-form",
           "'" + entryName(func) + "' must not write states");
    if (!symbols->lookup<train::StateOp>(name))
      fail(write.getLoc(), "mpc-add-optimizer",
           "writes '" + name + "', which is not a state");
    if (!written.insert(name).second)
      fail(write.getLoc(), "mpc-add-optimizer",
           "'" + entryName(func) + "' writes '" + name + "' twice");
  }

  SymbolTable *symbols = nullptr; ///< The module's, during a run.
};

} // namespace
