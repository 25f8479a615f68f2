//===- UseBf16Masters.cpp - Store master weights in bf16 ------------------===//
//
// Implements mpc-use-bf16-masters. The parameters become bf16 and products read
// them directly, so there is no working copy. The rounding error of an update
// is stored in another state, or rounding is stochastic (Masters.h). The update
// itself is still computed in f32.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/Precision/Masters.h"
#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/HalfFloat.h"
#include "compiler/Support/Notes.h"
#include "passes/Grad/EntryPoints.h"
#include "passes/Options/PassOptions.h"
#include "passes/Precision/Passes.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/Format.h"

#define DEBUG_TYPE "mpc-use-bf16-masters"

namespace mpc {
#define GEN_PASS_DEF_USEBF16MASTERSPASS
#include "passes/Precision/Passes.h.inc"
#include "passes/ValueBlob.h"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// An index for random numbers that no op of a model uses (see
/// train.dropout_training).
static constexpr int64_t kRoundingIndex = -1;

//===----------------------------------------------------------------------===//
// Initial values
//===----------------------------------------------------------------------===//

namespace {
/// Initial weights as the sum of two bf16 tensors.
struct SplitValues {
  ElementsAttr value, rest; ///< Null: zeros.
  double largestChange = 0; ///< Relative change of a weight by rounding.
};
} // namespace

/// Rounds to bf16. Finite numbers stay finite: those out of range become the
/// largest bf16.
static uint16_t roundWeight(float weight) {
  constexpr float kMax = 0x1.fep127f;
  return floatToBfloat(std::isfinite(weight) ? std::clamp(weight, -kMax, kMax)
                                             : weight);
}

/// Returns a function that reads element `i` of an f32 constant or resource.
static std::function<float(int64_t)> elementsOf(ElementsAttr elements) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(elements)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return nullptr;
    return [data = blob->getData().data()](int64_t i) {
      float value;
      std::memcpy(&value, data + i * sizeof(value), sizeof(value));
      return value;
    };
  }
  auto dense = dyn_cast<DenseFPElementsAttr>(elements);
  if (!dense)
    return nullptr;
  return [dense](int64_t i) { return dense.getValues<float>()[i]; };
}

/// Rounds the initial weights of `state`; fails if they are not in memory.
static FailureOr<SplitValues> splitValues(train::StateOp state, bool keepsRest,
                                          StringRef restName) {
  ElementsAttr initial = state.getInitialValueAttr();
  SplitValues split;
  if (!initial)
    return split;
  std::function<float(int64_t)> at = elementsOf(initial);
  if (!at)
    return state.emitError("the initial value of '")
           << state.getSymName() << "' is not available";
  auto type = cast<RankedTensorType>(state.getType())
                  .clone(BFloat16Type::get(state.getContext()));
  int64_t count = type.getNumElements();
  auto allocate = [&] { return allocateValueBlob(count * sizeof(uint16_t)); };
  AsmResourceBlob values = allocate(), rests = allocate();
  auto *value = reinterpret_cast<uint16_t *>(values.getMutableData().data());
  auto *rest = reinterpret_cast<uint16_t *>(rests.getMutableData().data());
  for (int64_t i = 0; i < count; ++i) {
    float weight = at(i);
    value[i] = roundWeight(weight);
    float kept = bfloatToFloat(value[i]);
    rest[i] = floatToBfloat(std::isfinite(weight) ? weight - kept : 0.0f);
    if (keepsRest)
      kept += bfloatToFloat(rest[i]);
    if (weight != 0 && std::isfinite(weight))
      split.largestChange = std::max(
          split.largestChange, std::abs((double(kept) - weight) / weight));
  }
  split.value = DenseResourceElementsAttr::get(type, state.getSymName(),
                                               std::move(values));
  if (keepsRest)
    split.rest =
        DenseResourceElementsAttr::get(type, restName, std::move(rests));
  return split;
}

/// The name of the compensation state: "compensation" if the weights are one
/// pack, so that a checkpoint has "compensation/fc1.weight".
static std::string compensationName(train::StateOp state) {
  StringRef name = usualName(StateRole::Compensation);
  bool isOnly = Program::around(state).states(StateRole::Parameter).size() == 1;
  return isOnly ? name.str() : (name + "." + state.getSymName()).str();
}

//===----------------------------------------------------------------------===//
// Reads and writes
//===----------------------------------------------------------------------===//

namespace {

/// Narrows one state of weights.
class Narrowing {
public:
  Narrowing(ModuleOp module, train::StateOp state, Masters masters)
      : module(module), state(state), masters(masters),
        wide(cast<RankedTensorType>(state.getType())),
        narrow(wide.clone(BFloat16Type::get(module.getContext()))) {}

  LogicalResult run() {
    std::string restName = compensationName(state);
    FailureOr<SplitValues> values =
        splitValues(state, masters == Masters::Kahan, restName);
    if (failed(values))
      return failure();
    largestChange = values->largestChange;

    SmallVector<train::ReadOp> wideReads;
    SmallVector<train::WriteOp> writes;
    module.walk([&](Operation *op) {
      if (auto read = dyn_cast<train::ReadOp>(op);
          read && read.getState() == state.getSymName())
        wideReads.push_back(read);
      if (auto write = dyn_cast<train::WriteOp>(op);
          write && write.getState() == state.getSymName())
        writes.push_back(write);
    });
    state.removeInitialValueAttr();
    state.setType(narrow);
    if (values->value)
      state.setInitialValueAttr(values->value);
    if (masters == Masters::Kahan)
      rest = Program(module).createState(StateRole::Compensation, restName,
                                         narrow, values->rest,
                                         state.getSlotsAttr(), state);
    for (train::ReadOp read : wideReads)
      widen(read);
    dropCopy();
    for (train::WriteOp write : writes)
      store(write);
    return success();
  }

  double largestChange = 0;
  int64_t count() const { return wide.getNumElements(); }

private:
  /// The weights, or a part of them, in f32 with the full stored precision.
  Value join(OpBuilder &builder, Location loc, Value value, Value left,
             Type type) {
    Operation *op =
        left ? amp::JoinCompensatedOp::create(builder, loc, type, value, left)
             : amp::CastOp::create(builder, loc, type, value).getOperation();
    amp::setDecision(op, {Rule::ClassMaster});
    return op->getResult(0);
  }

  /// Gives f32 users the full stored precision: each view separately, so that a
  /// bias does not widen the whole pack.
  void widen(train::ReadOp read) {
    auto func = read->getParentOfType<func::FuncOp>();
    OpBuilder builder(read);
    auto readNarrow = [&](train::StateOp of) -> Value {
      return train::ReadOp::create(builder, read.getLoc(), of);
    };
    Value value = readNarrow(state);
    Value left = rest ? readNarrow(rest) : Value();
    for (Operation *user : llvm::make_early_inc_range(read->getUsers())) {
      auto view = dyn_cast<train::UnpackOp>(user);
      if (!view)
        continue;
      builder.setInsertionPoint(view);
      auto type = view.getType();
      auto part = [&](Value pack) -> Value {
        return pack ? train::UnpackOp::create(
                          builder, view.getLoc(),
                          type.clone(narrow.getElementType()), pack,
                          view.getOffsetAttr())
                          .getResult()
                    : Value();
      };
      Value whole = join(builder, view.getLoc(), part(value), part(left), type);
      view.replaceAllUsesWith(whole);
      view.erase();
    }
    if (!read->use_empty()) {
      Operation *first = nullptr;
      for (Operation *user : read->getUsers())
        if (!first || user->isBeforeInBlock(first))
          first = user;
      builder.setInsertionPoint(first);
      Value whole = join(builder, read.getLoc(), value, left, wide);
      read.replaceAllUsesWith(whole);
    }
    read.erase();
    LDBG() << "narrowed reads of " << state.getSymName() << " in "
           << train::entryName(func);
  }

  /// Replaces the working copy by the weights themselves.
  void dropCopy() {
    for (train::StateOp copy : Program(module).states(StateRole::WorkingCopy)) {
      if (copy.getOf() != state.getSymName())
        continue;
      SmallVector<Operation *> writes;
      module.walk([&](Operation *op) {
        if (auto read = dyn_cast<train::ReadOp>(op);
            read && read.getState() == copy.getSymName())
          read.setState(state.getSymName());
        if (auto write = dyn_cast<train::WriteOp>(op);
            write && write.getState() == copy.getSymName())
          writes.push_back(write);
      });
      for (Operation *write : writes) {
        Operation *rounding = write->getOperand(0).getDefiningOp();
        write->erase();
        if (isOpTriviallyDead(rounding))
          rounding->erase();
      }
      copy.erase();
    }
  }

  void store(train::WriteOp write) {
    OpBuilder builder(write);
    Location loc = write.getLoc();
    Value weights = write.getValue();
    if (masters == Masters::Kahan) {
      auto split = amp::SplitCompensatedOp::create(builder, loc, narrow, narrow,
                                                   weights);
      amp::setDecision(split, {Rule::ClassUpdate});
      write.getValueMutable().assign(split.getValue());
      builder.setInsertionPointAfter(write);
      train::WriteOp::create(builder, loc, rest, split.getRest());
      return;
    }
    auto func = write->getParentOfType<func::FuncOp>();
    auto zero = builder.getI64IntegerAttr(0);
    auto number = [&](StateRole role) {
      return getOrCreateRead(func,
                             Program(module).getOrCreateNumber(role, zero));
    };
    Value rounded = amp::RoundStochasticallyOp::create(
        builder, loc, narrow, weights, number(StateRole::RandomSeed),
        number(StateRole::StepCount),
        builder.getI64IntegerAttr(kRoundingIndex));
    amp::setDecision(rounded.getDefiningOp(), {Rule::ClassUpdate});
    write.getValueMutable().assign(rounded);
  }

  ModuleOp module;
  train::StateOp state, rest;
  Masters masters;
  RankedTensorType wide, narrow;
};

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

struct UseBf16MastersPass
    : PassWithOptions<mpc::impl::UseBf16MastersPassBase<UseBf16MastersPass>,
                      MastersOptions> {
  using PassWithOptions::PassWithOptions;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const Masters kind = *parseMasters(masterWeights);
    if (kind == Masters::Fp32)
      return;
    auto precision = module->getAttrOfType<StringAttr>(kPrecisionAttr);
    FloatType low =
        precision ? getLowType(&getContext(), precision.getValue()) : nullptr;
    if (!low || !low.isBF16()) {
      emitUsageError(module.getLoc())
          << "option 'master-weights'=" << masterWeights
          << " requires weights that are read in bf16, but the precision is "
          << (precision ? precision.getValue() : StringRef("fp32"));
      return signalPassFailure();
    }
    SmallVector<train::StateOp> states =
        Program(module).states(StateRole::Parameter);
    if (states.empty())
      return addNote(module, "option 'master-weights'=" + masterWeights +
                                 ": the model has no weights to train");
    module->setAttr(kMastersAttr,
                    StringAttr::get(&getContext(), masterWeights));
    double change = 0;
    int64_t count = 0;
    for (train::StateOp state : states) {
      Narrowing narrowing(module, state, kind);
      if (failed(narrowing.run()))
        return signalPassFailure();
      change = std::max(change, narrowing.largestChange);
      count += narrowing.count();
    }
    tell(kind, change, count);
  }

private:
  void tell(Masters kind, double change, int64_t count) {
    std::string text;
    llvm::raw_string_ostream os(text);
    bool isKahan = kind == Masters::Kahan;
    os << "option 'master-weights'=" << masterWeights << ": "
       << (isKahan ? "4 bytes per weight instead of 6: a bf16 weight and its "
                     "rounding error. Matrix products read only the weight; "
                     "other ops read the sum of both"
                   : "2 bytes per weight instead of 6: bf16 weights for all "
                     "ops; "
                     "updates are rounded stochastically, keyed by the seed")
       << ". Rounding changed the initial weights by at most "
       << llvm::format("%.2g", 100 * change)
       << " %; option 'master-weights'=fp32 avoids this";
    addNote(getOperation(), text);
    LDBG() << count << " weights are " << masterWeights;
  }
};

} // namespace

std::unique_ptr<Pass>
mpc::createUseBf16MastersPass(const CompileOptions &options) {
  return std::make_unique<UseBf16MastersPass>(options);
}
