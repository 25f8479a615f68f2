//===- ObserveValues.cpp - A copy of the step with statistics -------------===//
//
// Implements mpc-observe-values. Runs after the verifier of the stage, which
// need not check the copy: it repeats the step and changes no state.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Support/Locations.h"
#include "compiler/Support/Report.h"
#include "passes/Diagnose/DiagnosticStep.h"
#include "passes/Diagnose/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "mpc-observe-values"

namespace mpc {
#define GEN_PASS_DEF_OBSERVEVALUESPASS
#include "passes/Diagnose/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Makes micro-batches return whether they are finite: the update may fail
/// because of a micro-batch whose inputs are gone by then.
static void testMicroBatch(func::FuncOp func) {
  SmallVector<Value> tested = findGradientPacks(func);
  Value loss = outputNamed(func, "loss");
  if (tested.empty() || !loss || outputNamed(func, "finite"))
    return;
  tested.push_back(loss);
  OpBuilder builder(getReturn(func));
  Value finite = amp::AllFiniteOp::create(builder, tested[0].getLoc(), tested);
  amp::setDecision(finite.getDefiningOp(), {Rule::GuardedMicroBatch});
  addOutput(func, finite, "finite");
}

/// The float results that an op computes.
static SmallVector<Value> computedBy(Operation *op) {
  SmallVector<Value> values;
  if (computesNumbers(op))
    for (Value result : op->getResults())
      if (getFloatElementType(result.getType()))
        values.push_back(result);
  return values;
}

static bool hasInfinity(train::ConstantOp constant) {
  auto dense = dyn_cast<DenseFPElementsAttr>(constant.getValue());
  return dense && llvm::any_of(dense, [](const APFloat &value) {
           return !value.isFinite();
         });
}

namespace {

/// Adds the observations to `observe`, a copy of the step.
class Observer {
public:
  explicit Observer(func::FuncOp func) : func(func), builder(func) {}

  void run() {
    // Collect the ops before any `train.observe` is inserted.
    SmallVector<Operation *> ops;
    for (Operation &op : func.front().without_terminator())
      ops.push_back(&op);
    builder.setInsertionPointToStart(&func.front());
    for (BlockArgument argument : func.getArguments()) {
      StringRef name = argumentName(func, argument.getArgNumber());
      if (getFloatElementType(argument.getType()))
        observe(argument, describe(name, "input"));
    }
    for (Operation *op : ops)
      visit(op);
    finish();
  }

private:
  using Rows = llvm::SetVector<int64_t>;

  void visit(Operation *op) {
    builder.setInsertionPointAfter(op);
    if (auto read = dyn_cast<train::ReadOp>(op))
      return visitState(read, std::nullopt, read.getStateOp());
    if (auto unpack = dyn_cast<train::UnpackOp>(op))
      if (auto read = unpack.getPacked().getDefiningOp<train::ReadOp>())
        return visitState(unpack, unpack.getOffset(), read.getStateOp());
    if (auto constant = dyn_cast<train::ConstantOp>(op)) {
      if (hasInfinity(constant))
        meant.insert(constant);
      return;
    }
    if (auto rounding = dyn_cast<train::RoundingOp>(op))
      return visitRounding(rounding);
    Rows reads;
    bool readsMeant = false;
    for (Value operand : op->getOperands()) {
      auto found = rows.find(operand);
      if (found != rows.end())
        reads.insert_range(found->second);
      readsMeant |= meant.contains(operand);
    }
    if (!computesNumbers(op)) {
      for (Value result : op->getResults()) {
        if (!isa<amp::SelectIfFiniteOp>(op))
          rows[result] = reads;
        if (readsMeant)
          meant.insert(result);
      }
      // The injected value is observed in place of the original.
      if (auto inject = dyn_cast<train::InjectOp>(op))
        rows[inject.getResult()] = Rows(rows.lookup(inject.getInput()));
      return;
    }
    for (Value result : computedBy(op)) {
      NamedAttrList row = describeOp(op);
      row.set("reads", builder.getDenseI64ArrayAttr(sorted(reads)));
      if (readsMeant)
        row.set("meant", builder.getUnitAttr());
      Value seen = result;
      for (Operation *user : result.getUsers())
        if (auto inject = dyn_cast<train::InjectOp>(user))
          seen = inject.getResult();
      if (seen != result)
        builder.setInsertionPointAfter(seen.getDefiningOp());
      observe(seen, row);
      rows[result] = Rows(rows.lookup(seen));
      builder.setInsertionPointAfter(op);
    }
  }

  static SmallVector<int64_t> sorted(const Rows &reads) {
    SmallVector<int64_t> list(reads.begin(), reads.end());
    llvm::sort(list);
    return list;
  }

  /// Observes a state, or its tensor at `offset`, unless only views of its
  /// tensors read it.
  void visitState(Operation *op, std::optional<int64_t> offset,
                  train::StateOp state) {
    Value value = op->getResult(0);
    bool isRead = llvm::any_of(value.getUsers(), [](Operation *user) {
      return !isa<train::UnpackOp>(user);
    });
    if (!getFloatElementType(value.getType()) || !isRead)
      return;
    // Derived states are rounded from finite values and stay finite.
    if (state.getKind() == train::StateKind::Derived)
      return;
    train::StateOp named = state.getKind() == train::StateKind::WorkingCopy
                               ? state.getOfState()
                               : state;
    std::string name = state.getSymName().str();
    if (ArrayAttr slots = named.getSlotsAttr(); slots && offset)
      for (auto slot : slots.getAsRange<train::SlotAttr>())
        if (slot.getOffset() == *offset)
          name = slot.getName().str();
    bool isConstant = named.getKind() == train::StateKind::Constant;
    observe(value, describe(name, isConstant ? "constant" : "state"));
  }

  void visitRounding(train::RoundingOp op) {
    auto found = rows.find(op.getValue());
    // A view has the row of the tensor that it shows.
    Attribute *row = found != rows.end() && found->second.size() == 1
                         ? &descriptions[found->second[0]]
                         : nullptr;
    if (!row || cast<DictionaryAttr>(*row).contains("rounding")) {
      op.erase();
      return;
    }
    NamedAttrList list(cast<DictionaryAttr>(*row));
    list.set("rounding", builder.getI64IntegerAttr(roundings.size()));
    *row = list.getDictionary(func.getContext());
    roundings.push_back(op.getSums());
  }

  NamedAttrList describe(StringRef name, StringRef kind) {
    NamedAttrList row;
    row.set("name", builder.getStringAttr(name));
    row.set("kind", builder.getStringAttr(kind));
    row.set("reads", builder.getDenseI64ArrayAttr({}));
    return row;
  }

  NamedAttrList describeOp(Operation *op) {
    StringRef node = nodeName(op->getLoc());
    StringRef name = node.empty() ? op->getName().getStringRef() : node;
    NamedAttrList row = describe(name, "forward");
    if (name.ends_with(kGradientSuffix))
      row.set("kind", builder.getStringAttr("backward"));
    if (node == kOptimizerNode)
      row.set("kind", builder.getStringAttr("update"));
    row.set("op", builder.getStringAttr(op->getName().getStringRef()));
    row.set("type", builder.getStringAttr(nodeType(op->getLoc())));
    return row;
  }

  /// Adds a row for `value` at the builder's insertion point.
  void observe(Value value, NamedAttrList row) {
    auto type = cast<RankedTensorType>(value.getType());
    row.set("tensor", TypeAttr::get(type));
    rows[value].insert(seen.size());
    descriptions.push_back(row.getDictionary(func.getContext()));
    seen.push_back(train::ObserveOp::create(builder, value.getLoc(), value));
  }

  /// Returns the packed rows. Attributes of the function describe them and list
  /// those that decide whether the step is applied.
  void finish() {
    Rows decisive;
    if (Value finite = outputNamed(func, "finite"))
      for (Value tested : finite.getDefiningOp()->getOperands())
        if (auto found = rows.find(tested); found != rows.end())
          decisive.insert_range(found->second);
    builder.setInsertionPoint(getReturn(func));
    SmallVector<Output> tables;
    auto pack = [&](ArrayRef<Value> parts, int64_t width, StringRef name) {
      if (parts.empty())
        return;
      int64_t count = parts.size();
      SmallVector<int64_t> offsets;
      for (int64_t i = 0; i < count; ++i)
        offsets.push_back(i * width);
      auto type = RankedTensorType::get({count, width}, builder.getF64Type());
      tables.push_back(
          {train::PackOp::create(builder, func.getLoc(), type, parts, offsets),
           outputAttributes(func.getContext(), name)});
    };
    pack(seen, train::kObservationWidth, "observations");
    pack(roundings, train::kRoundingWidth, "roundings");
    returnOnly(func, tables);
    func->setAttr(kObservationsAttr, builder.getArrayAttr(descriptions));
    func->setAttr(kTestedAttr, builder.getDenseI64ArrayAttr(sorted(decisive)));
  }

  func::FuncOp func;
  OpBuilder builder;
  DenseMap<Value, Rows> rows; ///< The rows that describe a value.
  DenseSet<Value> meant;      ///< Constants with infinities.
  SmallVector<Value> seen, roundings;
  SmallVector<Attribute> descriptions;
};

struct ObserveValuesPass : mpc::impl::ObserveValuesPassBase<ObserveValuesPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = Program(getOperation()).trainingEntry();
    if (!func)
      return;
    LDBG() << "observing " << train::entryName(func);
    testMicroBatch(func);
    if (injectable)
      makeInjectable(func);
    Observer(copyStep(func, EntryRole::Observe)).run();
    // Only the copy needs them.
    SmallVector<train::RoundingOp> roundings(
        func.front().getOps<train::RoundingOp>());
    for (train::RoundingOp op : roundings)
      op.erase();
  }

  /// Adds states that select an op and the value that replaces its result.
  void makeInjectable(func::FuncOp func) {
    Builder attributes(&getContext());
    auto create = [&](StateRole role, TypedAttr value) {
      auto type = RankedTensorType::get({}, value.getType());
      OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
      auto state = train::StateOp::create(
          builder, func.getLoc(),
          Program(getOperation()).freeName(train::usualName(role)), role, type,
          DenseElementsAttr::get(type, Attribute(value)));
      builder.setInsertionPointToStart(&func.front());
      return Value(train::ReadOp::create(builder, func.getLoc(), state));
    };
    Value place =
        create(StateRole::FaultPlace, attributes.getI32IntegerAttr(-1));
    // The state is a constant, which may be NaN: constants are never reported
    // as the origin of a fault.
    Value fault = create(StateRole::FaultValue, attributes.getF32FloatAttr(0));
    SmallVector<Value> values;
    for (Operation &op : func.front())
      llvm::append_range(values, computedBy(&op));
    for (auto [index, value] : llvm::enumerate(values)) {
      OpBuilder builder(func.getContext());
      builder.setInsertionPointAfterValue(value);
      auto inject = train::InjectOp::create(builder, value.getLoc(), value,
                                            place, fault, index);
      value.replaceAllUsesExcept(inject, inject);
    }
  }
};

} // namespace
