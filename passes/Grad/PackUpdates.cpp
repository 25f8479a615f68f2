//===- PackUpdates.cpp - Pack the updates of a model's own step -----------===//
//
// Implements mpc-pack-updates: weights, gradients and optimizer states become
// packs, one for each formula, like those of mpc-add-optimizer. Computations
// that are not elementwise stay as they are.
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/Locations.h"
#include "passes/Grad/Passes.h"
#include "passes/Grad/Update/Packing.h"
#include "passes/Grad/Update/UpdateFormula.h"
#include "passes/Options/PassOptions.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace mpc {
#define GEN_PASS_DEF_PACKUPDATESPASS
#include "passes/Grad/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

/// The weights that one formula updates, or a single weight whose formula is
/// not packable.
struct Group {
  SmallVector<train::StateOp> weights;
  std::vector<UpdateFormula> formulas; ///< Formula of each weight.
  SmallVector<int64_t> offsets;        ///< In the pack of the group.
  int64_t begin = 0;                   ///< In the pack of all parameters.
  RankedTensorType type;               ///< Type of the group's packs.
  bool isPackable = true;
};

struct PackUpdatesPass
    : PassWithOptions<mpc::impl::PackUpdatesPassBase<PackUpdatesPass>,
                      AccumulationOptions> {
  using PassWithOptions::PassWithOptions;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    function = Program(module).entry(EntryRole::Train);
    if (!hasImportedStep(module) || !function || !updatesWeights())
      return;
    if (failed(refuseOptions()))
      return signalPassFailure();
    takeGradients();
    findGroups();
    if (failed(layOut()) || failed(packAll()))
      return signalPassFailure();
    sortTopologically(&function.front());
    eraseDeadOps(function);
  }

private:
  static Location updateLoc(MLIRContext *context) {
    return makeNodeLoc(context, "update", "training step");
  }

  bool updatesWeights() {
    return llvm::any_of(
        function.getOps<train::WriteOp>(), [&](train::WriteOp write) {
          return write.getStateOp().getRole() == StateRole::Parameter;
        });
  }

  LogicalResult refuseOptions() {
    if (accumulate <= 1 && !dataParallel)
      return success();
    return emitUsageError(getOperation().getLoc())
           << "option '" << (dataParallel ? "data-parallel" : "accumulate")
           << "' does not apply: the model brings its own training step, which "
              "takes one batch";
  }

  /// Removes the gradients from the results of `train`, which from then on
  /// returns only the loss.
  void takeGradients() {
    SmallVector<Output> outputs = getOutputs(function);
    for (const Output &output : ArrayRef(outputs).drop_front()) {
      known.insert(output.value);
      unclaimedGradients.insert(output.value);
      differentiated.insert(
          output.attributes.getAs<StringAttr>(kGradientOfAttr).getValue());
    }
    setOutputs(function, outputs.front());
  }

  /// The state as the function reads it; null if it does not.
  Value findRead(train::StateOp state) {
    train::ReadOp read = train::findRead(function, state);
    return read ? read.getResult() : Value();
  }

  /// Groups weights by formula, in the order of their first weights.
  void findGroups() {
    llvm::MapVector<StringRef, SmallVector<unsigned>> byKey;
    SmallVector<train::StateOp> weights;
    std::vector<UpdateFormula> formulas;
    for (auto write : function.getOps<train::WriteOp>())
      if (write.getStateOp().getRole() == StateRole::Parameter) {
        weights.push_back(write.getStateOp());
        formulas.emplace_back(findRead(write.getStateOp()), write, known,
                              !differentiated.contains(write.getState()));
      }
    SmallVector<std::string> alone; // Keys of weights in a group of their own.
    alone.reserve(formulas.size());
    llvm::DenseMap<Operation *, unsigned> owners;
    for (UpdateFormula &formula : formulas)
      for (train::StateOp state : formula.states)
        ++owners[state];
    auto isPackable = [&](const UpdateFormula &formula) {
      return formula.isPackable() &&
             llvm::all_of(formula.states, [&](train::StateOp state) {
               return owners.lookup(state) == 1;
             });
    };
    for (auto [i, formula] : llvm::enumerate(formulas)) {
      if (!isPackable(formula))
        alone.push_back("alone " + std::to_string(i));
      byKey[isPackable(formula) ? StringRef(formula.key())
                                : StringRef(alone.back())]
          .push_back(i);
    }
    for (auto &[key, members] : byKey) {
      Group &group = groups.emplace_back();
      group.isPackable = isPackable(formulas[members.front()]);
      for (unsigned i : members) {
        group.weights.push_back(weights[i]);
        group.formulas.push_back(formulas[i]);
      }
    }
  }

  /// Assigns offsets to weights, and gives every function one read of the pack.
  LogicalResult layOut() {
    Operation *last = nullptr;
    llvm::DenseSet<Operation *> first;
    for (Group &group : groups) {
      first.insert(group.weights.front());
      for (train::StateOp weight : group.weights) {
        if (last)
          weight->moveAfter(last);
        last = weight;
      }
    }
    FailureOr<Packing> all =
        computePacking(getOperation(), [&](train::StateOp state) {
          return first.contains(state);
        });
    if (failed(all))
      return failure();
    packing = std::move(*all);
    unsigned index = 0;
    for (Group &group : groups) {
      FailureOr<Packing> own = computePacking(group.weights);
      if (failed(own))
        return failure();
      group.type = own->type;
      group.offsets = own->offsets;
      group.begin = packing.offsets[index];
      index += group.weights.size();
    }
    FailureOr<train::StateOp> made = packParameters(getOperation(), packing);
    if (failed(made))
      return failure();
    parameterPack = *made;
    return success();
  }

  /// The function's view of the weight at this offset of the pack.
  Value findView(int64_t offset) {
    for (auto view : function.getOps<train::UnpackOp>())
      if (view.getPacked() == parameters && int64_t(view.getOffset()) == offset)
        return view;
    return nullptr;
  }

  LogicalResult packAll() {
    OpBuilder builder(getReturn(function));
    Location loc = updateLoc(&getContext());
    parameters = findRead(parameterPack);
    if (!parameters)
      parameters = train::ReadOp::create(builder, loc, parameterPack);
    SmallVector<Value> updated, norms;
    SmallVector<int64_t> offsets;
    packUnclaimedGradients(builder, norms);
    // Groups that own gradients of weights first, because other groups may read
    // them.
    for (bool isOwn : {true, false})
      for (Group &group : groups)
        if (isOwn == hasWeightGradients(group))
          packGradients(builder, group, norms);
    for (Group &group : groups) {
      updated.push_back(buildUpdate(builder, group));
      if (!updated.back())
        return failure();
      offsets.push_back(group.begin);
    }
    for (auto [i, group] : llvm::enumerate(groups))
      if (!group.isPackable) {
        train::WriteOp write = group.formulas.front().write;
        updated[i] = write.getValue();
        write.erase();
      }
    Value all = updated.front();
    if (groups.size() > 1 || !groups.front().isPackable)
      all = train::PackOp::create(builder, loc, packing.type, updated, offsets);
    train::WriteOp::create(builder, loc, parameterPack, all);
    if (norms.empty()) // Nothing else tests whether the step is finite.
      packGradients(builder, nullptr, all, int64_t(0), norms);
    finishStep(builder, norms);
    return success();
  }

  /// Packs the gradients of a group, and redirects all their users to the pack,
  /// so that loss scaling can unscale them for all users.
  void packGradients(OpBuilder &builder, Group &group,
                     SmallVectorImpl<Value> &norms) {
    unsigned count = group.formulas.front().gradients.size();
    for (unsigned k = 0; k < count; ++k) {
      SmallVector<Value> gradients;
      for (const UpdateFormula &formula : group.formulas)
        gradients.push_back(formula.gradients[k]);
      RankedTensorType type = group.isPackable ? group.type : nullptr;
      bool isPacked = llvm::all_of(gradients, [&](Value gradient) {
        return firstPacks.contains(gradient);
      });
      if (!isPacked)
        packs[{&group, k}] =
            packGradients(builder, type, gradients, group.offsets, norms);
      else if (type) // The norm needs them only once.
        packs[{&group, k}] = packViews(builder, type, gradients, group.offsets);
    }
  }

  bool hasWeightGradients(const Group &group) {
    return llvm::any_of(group.formulas, [&](const UpdateFormula &formula) {
      return differentiated.contains(train::WriteOp(formula.write).getState());
    });
  }

  /// Packs gradients that other packs already contain.
  train::PackOp packViews(OpBuilder &builder, RankedTensorType type,
                          ArrayRef<Value> gradients,
                          ArrayRef<int64_t> offsets) {
    SmallVector<Value> views;
    for (Value gradient : gradients) {
      auto [pack, offset] = firstPacks.lookup(gradient);
      views.push_back(train::UnpackOp::create(
          builder, gradient.getLoc(), gradient.getType(), pack,
          builder.getI64IntegerAttr(offset)));
    }
    return train::PackOp::create(builder, updateLoc(&getContext()), type, views,
                                 offsets);
  }

  /// Packs gradients that no formula takes directly.
  void packUnclaimedGradients(OpBuilder &builder,
                              SmallVectorImpl<Value> &norms) {
    for (Group &group : groups)
      for (const UpdateFormula &formula : group.formulas)
        for (Value gradient : formula.gradients)
          unclaimedGradients.remove(gradient);
    for (Value gradient : unclaimedGradients)
      packGradients(builder, nullptr, gradient, int64_t(0), norms);
  }

  /// Packs gradients into a pack of `type`; if that is null, packs a single
  /// tensor by itself.
  train::PackOp packGradients(OpBuilder &builder, RankedTensorType type,
                              ArrayRef<Value> gradients,
                              ArrayRef<int64_t> offsets,
                              SmallVectorImpl<Value> &norms) {
    Location loc = updateLoc(&getContext());
    if (!type) {
      auto own = cast<RankedTensorType>(gradients[0].getType());
      int64_t rows = llvm::divideCeil(own.getNumElements(), kPackRow);
      type = own.clone({rows, kPackRow});
    }
    llvm::DenseSet<Operation *> before = opsBehind(gradients);
    auto pack = train::PackOp::create(builder, loc, type, gradients, offsets);
    pack->setAttr(kGradientsAttr, builder.getUnitAttr());
    for (auto [gradient, offset] : llvm::zip_equal(gradients, offsets)) {
      readFromPack(builder, gradient, pack, offset, before);
      firstPacks.try_emplace(gradient, pack.getResult(), offset);
    }
    norms.push_back(train::GlobalNormOp::create(builder, loc, pack));
    return pack;
  }

  /// All ops that `values` are computed by.
  static llvm::DenseSet<Operation *> opsBehind(ValueRange values) {
    llvm::DenseSet<Operation *> ops;
    SmallVector<Value> work(values);
    while (!work.empty())
      if (Operation *op = work.pop_back_val().getDefiningOp())
        if (ops.insert(op).second)
          llvm::append_range(work, op->getOperands());
    return ops;
  }

  void readFromPack(OpBuilder &builder, Value gradient, train::PackOp pack,
                    int64_t offset, const llvm::DenseSet<Operation *> &before) {
    auto isBehind = [&](OpOperand &use) {
      return !use.getOwner()->hasAttr(kGradientsAttr) &&
             !before.contains(use.getOwner());
    };
    if (llvm::none_of(gradient.getUses(), isBehind))
      return;
    Value view = train::UnpackOp::create(builder, gradient.getLoc(),
                                         gradient.getType(), pack.getResult(),
                                         builder.getI64IntegerAttr(offset));
    gradient.replaceUsesWithIf(view, isBehind);
    known.insert(view);
  }

  /// Builds the new weights of a group and writes its states.
  Value buildUpdate(OpBuilder &builder, Group &group) {
    Location loc = updateLoc(&getContext());
    if (!group.isPackable) // Its write holds the new value until the end.
      return group.formulas.front().write.getValue();
    Value weights = parameters;
    if (groups.size() > 1)
      weights = train::UnpackOp::create(builder, loc, group.type, parameters,
                                        builder.getI64IntegerAttr(group.begin));
    // Analyze it again, because weights and gradients are views now.
    train::WriteOp first = group.formulas.front().write;
    UpdateFormula formula(findView(group.begin), first, known,
                          !differentiated.contains(first.getState()));
    SmallVector<Value> gradients, others, states;
    for (unsigned k = 0; k < formula.gradients.size(); ++k)
      gradients.push_back(packs.lookup({&group, k}));
    for (unsigned k = 0; k < formula.others.size(); ++k) {
      SmallVector<Value> each;
      for (const UpdateFormula &member : group.formulas)
        each.push_back(member.others[k]);
      others.push_back(
          train::PackOp::create(builder, loc, group.type, each, group.offsets));
    }
    for (unsigned k = 0; k < formula.states.size(); ++k)
      if (!states.emplace_back(packStates(builder, group, k)))
        return nullptr;
    SmallVector<Value> results =
        formula.build(builder, weights, gradients, others, states);
    unsigned next = 1;
    for (auto [k, own] : llvm::enumerate(formula.stateWrites)) {
      if (!own)
        continue;
      Value result = results[next++];
      train::WriteOp::create(
          builder, loc, states[k].getDefiningOp<train::ReadOp>().getState(),
          result);
      for (auto [i, member] : llvm::enumerate(group.formulas))
        readUpdated(builder, member.stateWrites[k], result, group.offsets[i]);
    }
    for (auto [i, member] : llvm::enumerate(group.formulas))
      readUpdated(builder, member.write, results.front(), group.offsets[i]);
    for (auto [k, pack] : llvm::enumerate(states))
      retireStates(builder, group, k, pack);
    return results.front();
  }

  /// Redirects users of one tensor's new value to the pack.
  void readUpdated(OpBuilder &builder, train::WriteOp write, Value pack,
                   int64_t offset) {
    Value value = write.getValue();
    write.erase();
    if (value.use_empty())
      return;
    Value view =
        train::UnpackOp::create(builder, value.getLoc(), value.getType(), pack,
                                builder.getI64IntegerAttr(offset));
    value.replaceAllUsesWith(view);
  }

  /// Packs state number `k` of the formula for all weights of a group into one
  /// state, and reads it.
  Value packStates(OpBuilder &builder, const Group &group, unsigned k) {
    SmallVector<train::StateOp> states;
    for (const UpdateFormula &formula : group.formulas)
      states.push_back(formula.states[k]);
    FailureOr<Packing> layout = computePacking(states);
    if (failed(layout))
      return nullptr;
    std::string name =
        ("update." + Twine(&group - groups.data()) + "." + Twine(k)).str();
    FailureOr<ElementsAttr> values = packValues(*layout, name);
    if (failed(values))
      return nullptr;
    train::StateOp state =
        Program(getOperation())
            .createState(StateRole::Optimizer, name, layout->type, *values,
                         layout->slots);
    state.setOwnNames(true);
    return train::ReadOp::create(builder, updateLoc(&getContext()), state);
  }

  /// Replaces the states by the pack that contains them.
  void retireStates(OpBuilder &builder, const Group &group, unsigned k,
                    Value pack) {
    for (auto [i, formula] : llvm::enumerate(group.formulas)) {
      train::StateOp state = formula.states[k];
      auto read = train::findRead(function, state);
      Value view =
          train::UnpackOp::create(builder, read.getLoc(), read.getType(), pack,
                                  builder.getI64IntegerAttr(group.offsets[i]));
      read.replaceAllUsesWith(view);
      read.erase();
      state.erase();
    }
  }

  /// Makes `step` return the loss and the norm of all gradients, and count
  /// steps.
  void finishStep(OpBuilder &builder, ArrayRef<Value> norms) {
    Location loc = updateLoc(&getContext());
    Value norm = norms.front();
    if (norms.size() > 1) {
      Value sum;
      for (Value part : norms) {
        Value square = train::MulOp::create(builder, loc, part, part);
        sum = sum ? train::AddOp::create(builder, loc, sum, square).getResult()
                  : square;
      }
      norm = train::SqrtOp::create(builder, loc, sum);
    }
    Program program(getOperation());
    train::StateOp counter = program.getOrCreateNumber(
        StateRole::StepCount, builder.getI64IntegerAttr(0));
    Value count = findRead(counter);
    if (!count)
      count = train::ReadOp::create(builder, loc, counter);
    train::WriteOp::create(builder, loc, counter,
                           train::IncrementOp::create(builder, loc, count));
    SmallVector<Output> outputs = getOutputs(function);
    outputs.push_back({norm, outputAttributes(&getContext(), "grad_norm")});
    setOutputs(function, outputs);
    program.setRole(function, EntryRole::Step);
  }

  func::FuncOp function;
  llvm::DenseSet<Value> known; ///< Gradients of weights, or views of them.
  llvm::SetVector<Value>
      unclaimedGradients; ///< Gradients that belong to no formula.
  llvm::DenseMap<Value, std::pair<Value, int64_t>>
      firstPacks; ///< First pack of each gradient, and its offset.
  llvm::StringSet<> differentiated; ///< Weights whose gradients are known.
  std::vector<Group> groups;
  Packing packing;
  train::StateOp parameterPack;
  Value parameters; ///< All parameters, as `train` reads them.
  llvm::DenseMap<std::pair<const Group *, unsigned>, train::PackOp> packs;
};

} // namespace

std::unique_ptr<Pass>
mpc::createPackUpdatesPass(const CompileOptions &options) {
  return std::make_unique<PackUpdatesPass>(options);
}
