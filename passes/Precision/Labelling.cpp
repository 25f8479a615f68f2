//===- Labelling.cpp - Two labels for every float of a function -----------===//

#include "passes/Precision/Labelling.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpc;
using amp::PrecisionClass;
using amp::PrecisionOpInterface;

static int64_t numElements(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

/// A single number is never rounded: it saves nothing, and it may be the loss,
/// its scale or the seed of the gradient, which exceed the range of f16. Matrix
/// units alone want both operands in one type.
static bool isKeptScalar(PrecisionOpInterface op, Value value) {
  return numElements(value) == 1 &&
         op.getPrecisionClass() != PrecisionClass::Low;
}

/// True if an operand is f32 whatever the label of its op.
static bool isFixed(PrecisionOpInterface op, OpOperand &use) {
  return op.isOperandPinned(use.getOperandNumber()) ||
         isKeptScalar(op, use.get());
}

static bool isFixed(PrecisionOpInterface op, OpResult result) {
  return op.isResultPinned(result.getResultNumber()) ||
         isKeptScalar(op, result);
}

/// True if some f32 operand or result of `op` is fixed.
static bool hasFixed(PrecisionOpInterface op) {
  return llvm::any_of(op->getOpOperands(),
                      [&](OpOperand &use) {
                        return isF32Tensor(use.get().getType()) &&
                               isFixed(op, use);
                      }) ||
         llvm::any_of(op->getResults(), [&](OpResult result) {
           return isF32Tensor(result.getType()) && isFixed(op, result);
         });
}

/// True if running `op` moves its operands and results. Reads, writes, packing
/// and views cost nothing: the plan computes in place.
static bool movesBytes(Operation *op) {
  auto cost = dyn_cast<train::CostOpInterface>(op);
  return cost && !cost.isView();
}

/// Elements that running an op which moves bytes reads of one operand.
static int64_t numReads(OpOperand &use) {
  return cast<train::CostOpInterface>(use.getOwner())
      .countReads(use.getOperandNumber());
}

/// Bytes of reading and writing a value once to change its type.
static int64_t castCost(Value value) { return numElements(value) * (4 + 2); }

/// True if the 16-bit form of `value` exists without a cast at run time.
static bool hasFreeCopy(Value value) {
  if (auto constant = value.getDefiningOp<train::ConstantOp>())
    return isa<DenseFPElementsAttr>(constant.getValue());
  return getWeightState(value) != nullptr;
}

//===----------------------------------------------------------------------===//
// Choices and constraints
//===----------------------------------------------------------------------===//

Labelling::Labelling(func::FuncOp func, OverrideFn overrideOf)
    : wide(cut.addNode()), narrow(cut.addNode()) {
  cut.addCostOfSink(wide, MinCut::forbidden);
  cut.addCostOfSource(narrow, MinCut::forbidden);

  Block &body = func.front();
  for (Value argument : body.getArguments())
    if (isF32Tensor(argument.getType()))
      stored[argument] = wide;
  for (Operation &op : body) {
    PrecisionOverride override = overrideOf(&op);
    addOp(&op, override);
    overrides[&op] = std::move(override);
  }

  for (Operation &op : body)
    addCosts(&op);
  for (Value argument : body.getArguments())
    addCasts(argument);
  for (Operation &op : body)
    for (Value result : op.getResults())
      addCasts(result);

  [[maybe_unused]] MinCut::Capacity cost = cut.solve();
  assert(cost < MinCut::forbidden && "all f32 is always allowed");
}

/// Gives every f32 result and every use that may differ a node.
void Labelling::addOp(Operation *op, const PrecisionOverride &override) {
  auto precision = dyn_cast<PrecisionOpInterface>(op);
  bool isWeight =
      op->getNumResults() == 1 && getWeightState(op->getResult(0)) != nullptr;
  if (precision && !isWeight && override.kind == PrecisionOverride::None)
    return addClass(precision);

  // A weight, the copy of which is free; an op without a class, such as a
  // return; or the user's word.
  bool low =
      precision && !isWeight && override.kind == PrecisionOverride::ForceLow;
  if (low && precision.getPrecisionClass() == PrecisionClass::Transparent)
    low = !hasFixed(precision);
  for (OpOperand &use : op->getOpOperands())
    if (isF32Tensor(use.get().getType()))
      used[&use] = low && !isFixed(precision, use) ? narrow : wide;
  for (OpResult result : op->getResults())
    if (isF32Tensor(result.getType()))
      stored[result] = low && !isFixed(precision, result) ? narrow : wide;
}

void Labelling::addClass(PrecisionOpInterface op) {
  PrecisionClass kind = op.getPrecisionClass();
  if (kind == PrecisionClass::Follow || kind == PrecisionClass::Transparent)
    return addTied(op);

  for (OpResult result : op->getResults()) {
    if (!isF32Tensor(result.getType()))
      continue;
    bool fixed = kind == PrecisionClass::Sensitive || isFixed(op, result);
    stored[result] = fixed ? wide : cut.addNode();
  }
  for (OpOperand &use : op->getOpOperands()) {
    if (!isF32Tensor(use.get().getType()))
      continue;
    bool fixed = kind == PrecisionClass::Sensitive || isFixed(op, use);
    Node node = fixed                         ? wide
                : kind == PrecisionClass::Low ? narrow
                                              : cut.addNode();
    used[&use] = node;
    // A result is as wide as the widest operand.
    if (kind == PrecisionClass::Promote)
      for (OpResult result : op->getResults())
        if (isF32Tensor(result.getType()))
          cut.addEdge(node, stored[result], MinCut::forbidden);
  }
}

/// Follow: results and the operands that carry the data share one node; small
/// operands that are broadcast are read as they are. Transparent: all share.
void Labelling::addTied(PrecisionOpInterface op) {
  bool exact = op.getPrecisionClass() == PrecisionClass::Transparent;
  Node tied = exact && hasFixed(op) ? wide : cut.addNode();
  int64_t elements = -1;
  for (OpResult result : op->getResults()) {
    if (!isF32Tensor(result.getType()))
      continue;
    stored[result] = isFixed(op, result) ? wide : tied;
    if (elements < 0)
      elements = numElements(result);
  }

  OpOperand *first = nullptr;
  bool found = false;
  for (OpOperand &use : op->getOpOperands()) {
    if (!isF32Tensor(use.get().getType()))
      continue;
    if (isFixed(op, use)) {
      used[&use] = wide;
      continue;
    }
    if (!first)
      first = &use;
    if (exact || numElements(use.get()) == elements) {
      used[&use] = tied;
      found = true;
    }
  }
  // All operands are broadcast, or the op shrinks its data.
  if (!found && first)
    used[first] = tied;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// f32 moves two bytes more for each element than 16 bit.
void Labelling::addCosts(Operation *op) {
  if (!movesBytes(op))
    return;
  for (OpOperand &use : op->getOpOperands())
    if (isF32Tensor(use.get().getType()))
      cut.addCostOfSource(nodeOf(use), 2 * numReads(use));
  for (Value result : op->getResults())
    if (isF32Tensor(result.getType()))
      cut.addCostOfSource(nodeOf(result), 2 * numElements(result));
}

void Labelling::addCasts(Value value) {
  if (!isF32Tensor(value.getType()))
    return;
  Node from = nodeOf(value);
  llvm::SmallSetVector<Node, 4> users;
  for (OpOperand &use : value.getUses())
    if (nodeOf(use) != from)
      users.insert(nodeOf(use));
  if (users.empty())
    return;

  // `noLow` is on the source side if no user reads 16 bit; else one cast down
  // is paid if the value is stored in f32.
  Node noLow = cut.addNode();
  cut.addEdge(from, noLow, hasFreeCopy(value) ? 0 : castCost(value));
  // `noWide` is on the sink side if no user reads f32; else one cast up is
  // paid if the value is stored in 16 bit.
  Node noWide = cut.addNode();
  cut.addEdge(noWide, from, castCost(value));
  for (Node user : users) {
    cut.addEdge(noLow, user, MinCut::forbidden);
    cut.addEdge(user, noWide, MinCut::forbidden);
  }
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

Labelling::Node Labelling::nodeOf(Value value) const {
  auto it = stored.find(value);
  return it == stored.end() ? wide : it->second;
}

Labelling::Node Labelling::nodeOf(OpOperand &use) const {
  auto it = used.find(&use);
  return it == used.end() ? nodeOf(use.get()) : it->second;
}

/// Bytes that `value` causes: its write, its reads and its casts.
int64_t Labelling::costOfValue(Value value, const Trial &trial) const {
  auto low = [&](Node node) {
    auto it = trial.find(node);
    return it == trial.end() ? isLow(node) : it->second;
  };
  int64_t elements = numElements(value);
  bool storedLow = low(nodeOf(value));
  bool castsDown = false, castsUp = false;
  int64_t total = 0;
  if (value.getDefiningOp() && movesBytes(value.getDefiningOp()))
    total += elements * (storedLow ? 2 : 4);
  for (OpOperand &use : value.getUses()) {
    bool usedLow = low(nodeOf(use));
    castsDown |= usedLow && !storedLow;
    castsUp |= !usedLow && storedLow;
    if (movesBytes(use.getOwner()))
      total += numReads(use) * (usedLow ? 2 : 4);
  }
  if (castsDown && !hasFreeCopy(value))
    total += castCost(value);
  if (castsUp)
    total += castCost(value);
  return total;
}

/// Bytes that `trial`, which differs in labels of `op` alone, moves more.
int64_t Labelling::extraCost(Operation *op, const Trial &trial) const {
  llvm::SmallSetVector<Value, 8> values;
  for (OpOperand &use : op->getOpOperands())
    if (isF32Tensor(use.get().getType()) && trial.contains(nodeOf(use)))
      values.insert(use.get());
  for (Value result : op->getResults())
    if (isF32Tensor(result.getType()) && trial.contains(nodeOf(result)))
      values.insert(result);
  int64_t more = 0;
  for (Value value : values)
    more += costOfValue(value, trial) - costOfValue(value, Trial());
  return more;
}

Labelling::Decision Labelling::explain(Operation *op) const {
  const PrecisionOverride &override = overrides.find(op)->second;
  if (override.kind != PrecisionOverride::None)
    return {kRuleOption, override.reason};

  auto precision = cast<PrecisionOpInterface>(op);
  std::string reason = precision.getPrecisionReason().str();
  PrecisionClass kind = precision.getPrecisionClass();
  if (kind == PrecisionClass::Low || kind == PrecisionClass::Sensitive)
    return {kRuleClass, reason};

  llvm::SmallSetVector<Node, 4> choices;
  for (Value result : op->getResults())
    if (isFree(nodeOf(result)))
      choices.insert(nodeOf(result));
  for (OpOperand &use : op->getOpOperands())
    if (used.contains(&use) && isFree(nodeOf(use)))
      choices.insert(nodeOf(use));
  if (choices.empty()) {
    auto isLarge = [](Value value) {
      return isF32Tensor(value.getType()) && numElements(value) > 1;
    };
    bool large = llvm::any_of(op->getOperands(), isLarge) ||
                 llvm::any_of(op->getResults(), isLarge);
    return {kRulePin, large ? reason : "a single number is never rounded"};
  }

  // The price of the other answer, all else being equal.
  bool low = isLow(choices.front());
  Trial other;
  for (Node node : choices)
    other[node] = !low;
  int64_t more = extraCost(op, other);
  assert(more >= 0 && "the cut is not the cheapest");
  std::string price = more == 0 ? "16 bit would save no bytes"
                                : (low ? "f32" : "16 bit") +
                                      std::string(" would move ") +
                                      std::to_string(more) + " bytes more";
  return {kRuleCut, reason.empty() ? price : reason + "; " + price};
}
