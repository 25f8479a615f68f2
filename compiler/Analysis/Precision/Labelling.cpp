//===- Labelling.cpp - Choice between f32 and 16 bit by a cut -------------===//

#include "compiler/Analysis/Precision/Labelling.h"

#include "compiler/Dialect/Train/IR/Views.h"
#include "compiler/Support/UserInput/Profile.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpc;
using amp::PrecisionClass;
using amp::PrecisionOpInterface;

static int64_t numElements(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

/// A single number is never rounded: that would save nothing, and it may be the
/// loss, its scale or the seed of the backward pass, which exceed the range of
/// f16. Only matrix units need both operands in one type.
static bool isKeptScalar(PrecisionOpInterface op, Value value) {
  return numElements(value) == 1 && !isLowOp(op);
}

/// True if running `op` reads and writes memory. Reads and writes of states,
/// packing and views cost nothing: the plan computes in place.
static bool movesBytes(Operation *op) {
  auto cost = dyn_cast<train::CostOpInterface>(op);
  return cost && !train::isView(op);
}

/// The number of elements of one operand that an op with movesBytes reads.
static int64_t numReads(OpOperand &use) {
  return cast<train::CostOpInterface>(use.getOwner())
      .countReads(use.getOperandNumber());
}

/// The bytes of a cast: the value is read and written once.
static int64_t castCost(Value value) { return numElements(value) * (4 + 2); }

/// True if the 16-bit form of `value` exists without a cast at run time.
static bool hasFreeCopy(Value value) {
  if (auto constant = value.getDefiningOp<train::ConstantOp>())
    return isa<DenseFPElementsAttr>(constant.getValue());
  return getWeightState(value) != nullptr;
}

/// True if the elements of `value` are computed, not only moved.
static bool isComputed(Value value) {
  auto op = dyn_cast_or_null<PrecisionOpInterface>(value.getDefiningOp());
  return op && !isTransparent(op) &&
         op.getPrecisionClass(nullptr) != PrecisionClass::Promote;
}

//===----------------------------------------------------------------------===//
// Values that are always f32
//===----------------------------------------------------------------------===//

/// True if `value` must be stored in f32. Weights that are only moved may be
/// rounded like weights; values computed from weights are stored in f32 and
/// only rounded for users that read 16 bit.
bool Labelling::staysWide(Value value) const {
  return origins.isUnbounded(value) || ranges.of(value).exceeds(lowType) ||
         origins.isParameterGradient(value) || origins.isUpdate(value) ||
         origins.feedsIndex(value) ||
         (origins.isOfParameters(value) && isComputed(value));
}

/// True if an operand is f32 whatever the label of its op.
bool Labelling::isFixed(PrecisionOpInterface op, OpOperand &use) const {
  return op.isOperandPinned(use.getOperandNumber()) ||
         isKeptScalar(op, use.get());
}

bool Labelling::isFixed(PrecisionOpInterface op, OpResult result) const {
  return op.isResultPinned(result.getResultNumber()) ||
         isKeptScalar(op, result) || staysWide(result);
}

/// True if some f32 operand or result of `op` is fixed.
bool Labelling::hasFixed(PrecisionOpInterface op) const {
  return llvm::any_of(op->getOpOperands(),
                      [&](OpOperand &use) {
                        return isF32Tensor(use.get().getType()) &&
                               isFixed(op, use);
                      }) ||
         llvm::any_of(op->getResults(), [&](OpResult result) {
           return isF32Tensor(result.getType()) && isFixed(op, result);
         });
}

//===----------------------------------------------------------------------===//
// Choices and constraints
//===----------------------------------------------------------------------===//

Labelling::Labelling(func::FuncOp func, const Ranges &ranges, FloatType low,
                     int64_t minimumGain, OverrideFn overrideOf,
                     const ErrorCosts *errorCosts)
    : origins(func), ranges(ranges), lowType(low), minimumGain(minimumGain),
      errorCosts(errorCosts), func(func), wide(cut.addNode()),
      narrow(cut.addNode()) {
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
    keepFromPoles(&op);
  keepAwayFromProducts(body);

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

/// A value that is read by a pinned operand is not stored in 16 bit and cast
/// up, since it would have been rounded before; only the user may choose that.
void Labelling::keepPinned(PrecisionOpInterface op) {
  for (OpOperand &use : op->getOpOperands()) {
    Node node = nodeOf(use.get());
    if (isF32Tensor(use.get().getType()) && isFree(node) &&
        op.isOperandPinned(use.getOperandNumber()) &&
        pinned.insert(node).second)
      cut.addCostOfSink(node, MinCut::forbidden);
  }
}

/// True if the results of `op` are finite for this operand in [smallest, 1],
/// but not for 0.
static bool hasPoleAtZero(amp::RangeOpInterface op, OpOperand &use,
                          double smallest) {
  auto isFinite = [&](double low) {
    SmallVector<amp::NumberRange> operands(op->getNumOperands(),
                                           amp::NumberRange::within(1, 1));
    SmallVector<amp::NumberRange> results(op->getNumResults());
    operands[use.getOperandNumber()] = amp::NumberRange::within(low, 1);
    op.inferRanges(operands, results);
    return llvm::all_of(results, [](const amp::NumberRange &range) {
      return range.isFinite() && range.isBounded();
    });
  };
  return isFinite(smallest) && !isFinite(0);
}

/// A probability that is never 0 may be too small for f16. If its reader has a
/// pole at 0, as a logarithm has, it is not rounded.
void Labelling::keepFromPoles(Operation *op) {
  auto ranged = dyn_cast<amp::RangeOpInterface>(op);
  double smallest = amp::smallestNormalOf(lowType);
  if (!ranged || smallest <= std::numeric_limits<float>::min())
    return;
  for (OpOperand &use : op->getOpOperands()) {
    const amp::NumberRange &range = ranges.of(use.get()).range;
    if (!isF32Tensor(use.get().getType()) || range.low != 0 ||
        !range.isBounded() || !hasPoleAtZero(ranged, use, smallest))
      continue;
    // Includes the values that it is moved from.
    SmallVector<Value> work = {use.get()};
    while (!work.empty()) {
      Value value = work.pop_back_val();
      Node node = nodeOf(value);
      if (!isF32Tensor(value.getType()) || !isFree(node))
        continue;
      if (poles.insert(node).second)
        cut.addCostOfSink(node, MinCut::forbidden);
      if (isTransparent(value.getDefiningOp()))
        llvm::append_range(work, value.getDefiningOp()->getOperands());
    }
  }
}

/// Creates a node for every f32 result, and for every use that may have another
/// label.
void Labelling::addOp(Operation *op, const PrecisionOverride &override) {
  auto precision = dyn_cast<PrecisionOpInterface>(op);
  if (precision)
    keepPinned(precision);
  bool isWeight =
      op->getNumResults() == 1 && getWeightState(op->getResult(0)) != nullptr;
  // An FP8 layer is labelled like any other: the class of its ops is `low`.
  bool isFree = !override.format || override.is(FormatFacts::Layer);
  if (precision && !isWeight && isFree)
    return addClass(precision);

  // The rest has fixed labels: weights, whose copies are free; ops without a
  // class, such as a return; and ops with a format from the user, which only
  // pins and the update overrule.
  bool isUpdate = llvm::any_of(
      op->getResults(), [&](Value result) { return origins.isUpdate(result); });
  bool low =
      precision && !isWeight && !isUpdate && override.is(FormatFacts::Tensor);
  auto isPinned = [&](OpResult result) {
    return precision.isResultPinned(result.getResultNumber()) ||
           isKeptScalar(precision, result) ||
           origins.isParameterGradient(result);
  };
  if (low && isTransparent(op))
    low = !hasFixed(precision) &&
          llvm::none_of(op->getOperands(), [&](Value operand) {
            return origins.isParameterGradient(operand);
          });
  auto isReadLow = [&](OpOperand &use) {
    return low && !isFixed(precision, use) &&
           (isLowOp(op) || !origins.isParameterGradient(use.get()));
  };
  for (OpOperand &use : op->getOpOperands())
    if (isF32Tensor(use.get().getType()))
      used[&use] = isReadLow(use) ? narrow : wide;
  for (OpResult result : op->getResults())
    if (isF32Tensor(result.getType()))
      stored[result] = low && !isPinned(result) ? narrow : wide;
}

/// `use` reads f32 if the value is stored in f32: there is no cast for this op.
void Labelling::readAsStored(OpOperand &use) {
  cut.addEdge(nodeOf(use.get()), used.lookup(&use), MinCut::forbidden);
}

void Labelling::addClass(PrecisionOpInterface op) {
  PrecisionClass kind = classForRange(op, lowType, ranges);
  bool isFollow = kind == PrecisionClass::Follow && !op.isBounded();
  if (isFollow || kind == PrecisionClass::Transparent)
    return addTied(op);

  for (OpResult result : op->getResults()) {
    if (!isF32Tensor(result.getType()))
      continue;
    bool fixed = kind == PrecisionClass::Sensitive || isFixed(op, result);
    stored[result] = fixed ? wide : cut.addNode();
  }
  bool isMain = true;
  Node product = kind == PrecisionClass::Low ? productNode(op) : wide;
  for (OpOperand &use : op->getOpOperands()) {
    if (!isF32Tensor(use.get().getType()))
      continue;
    bool fixed = kind == PrecisionClass::Sensitive || isFixed(op, use);
    Node node = fixed                         ? wide
                : kind == PrecisionClass::Low ? product
                                              : cut.addNode();
    used[&use] = node;
    if (!isFree(node) || kind == PrecisionClass::Low)
      continue;
    bool moves = kind == PrecisionClass::Promote;
    if (!moves || !hasFreeCopy(use.get()))
      readAsStored(use);
    // A result is as wide as the widest operand; or as the main operand, unless
    // the op bounds the result.
    if (moves || (isMain && !op.isBounded()))
      for (OpResult result : op->getResults())
        if (isF32Tensor(result.getType()))
          cut.addEdge(node, stored[result], MinCut::forbidden);
    isMain = false;
  }
}

/// The node of the operands of a product: 16 bit, unless errors have a cost.
/// In that case all operands have one label, and a product of f32 operands has
/// an f32 result.
Labelling::Node Labelling::productNode(PrecisionOpInterface op) {
  auto cost = dyn_cast<train::CostOpInterface>(*op);
  if (!errorCosts || !cost)
    return narrow;
  Node node = cut.addNode();
  cut.addCostOfSource(
      node, static_cast<int64_t>(errorCosts->bytesPerFlop * cost.getFlops()));
  for (OpResult result : op->getResults())
    if (isF32Tensor(result.getType()))
      cut.addEdge(node, stored[result], MinCut::forbidden);
  return node;
}

/// The cost of rounding `value` in bytes, bounded so that sums of costs stay
/// below `MinCut::forbidden`.
int64_t Labelling::costOfError(Value value) const {
  constexpr double kMax = 1e15;
  if (!errorCosts)
    return 0;
  return std::min(errorCosts->errorOf(value) * errorCosts->bytesPerError, kMax);
}

double Labelling::error() const {
  double sum = 0;
  auto add = [&](Value value) {
    if (!isF32Tensor(value.getType()))
      return;
    Operation *op = value.getDefiningOp();
    bool isRounded =
        isLow(value) ? !op || !isTransparent(op)
                     : llvm::any_of(value.getUses(),
                                    [&](OpOperand &use) { return isLow(use); });
    if (isRounded)
      sum += errorCosts->errorOf(value);
  };
  llvm::for_each(func::FuncOp(func).getArguments(), add);
  for (Operation &op : func::FuncOp(func).front())
    llvm::for_each(op.getResults(), add);
  return sum;
}

/// Follow: results and the operands of their size share one node; smaller
/// operands that are broadcast, and values computed from parameters, are read
/// as stored. Transparent: all results and operands share one node.
void Labelling::addTied(PrecisionOpInterface op) {
  bool exact = isTransparent(op);
  bool anyWide = llvm::any_of(op->getResults(), [&](OpResult result) {
    return isF32Tensor(result.getType()) && staysWide(result);
  });
  // Generated code converts in registers, so f32 results need no f32 operands;
  // but a kernel of the catalog has one type.
  bool mixes = anyWide && !exact && !isa<train::KernelOpInterface>(*op);
  Node tied = anyWide || (exact && hasFixed(op)) ? wide : cut.addNode();
  int64_t elements = -1;
  for (OpResult result : op->getResults()) {
    if (!isF32Tensor(result.getType()))
      continue;
    stored[result] = isFixed(op, result) ? wide : tied;
    if (elements < 0)
      elements = numElements(result);
  }
  if (mixes)
    return;

  OpOperand *first = nullptr;
  bool found = false;
  auto tie = [&](OpOperand &use) {
    used[&use] = tied;
    if (isFree(tied) && !(exact && hasFreeCopy(use.get())))
      readAsStored(use);
  };
  for (OpOperand &use : op->getOpOperands()) {
    if (!isF32Tensor(use.get().getType()))
      continue;
    if (isFixed(op, use)) {
      used[&use] = wide;
      continue;
    }
    if (!exact && origins.isOfParameters(use.get()))
      continue;
    if (!first)
      first = &use;
    if (exact || numElements(use.get()) == elements) {
      tie(use);
      found = true;
    }
  }
  // All operands are broadcast, or the results are smaller than the operands.
  if (!found && first)
    tie(*first);
}

/// Forbids 16 bit for tensors that no chain of potential 16-bit tensors
/// connects to a `low` op: saving bytes alone is no reason to round a model.
void Labelling::keepAwayFromProducts(Block &body) {
  llvm::EquivalenceClasses<Node> regions;
  regions.insert(narrow);
  auto join = [&](Node a, Node b) {
    if (a != wide && b != wide)
      regions.unionSets(a, b);
  };
  for (Operation &op : body) {
    Node center = isLowOp(&op) ? narrow : wide;
    auto touch = [&](Node node) {
      if (center == wide)
        center = node;
      join(center, node);
    };
    for (OpOperand &use : op.getOpOperands())
      if (used.contains(&use)) {
        touch(nodeOf(use));
        join(nodeOf(use.get()), nodeOf(use));
      }
    for (Value result : op.getResults())
      if (stored.contains(result))
        touch(nodeOf(result));
  }
  auto keep = [&](Node node) {
    if (isFree(node) && !regions.isEquivalent(node, narrow) &&
        apart.insert(node).second)
      cut.addCostOfSink(node, MinCut::forbidden);
  };
  for (Operation &op : body) {
    for (OpOperand &use : op.getOpOperands())
      if (used.contains(&use))
        keep(nodeOf(use));
    for (Value result : op.getResults())
      if (stored.contains(result))
        keep(nodeOf(result));
  }
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// f32 moves two bytes more per element than 16 bit; rounding must save at
/// least `minimumGain`.
void Labelling::addCosts(Operation *op) {
  if (!isTransparent(op))
    for (Value result : op->getResults())
      if (isF32Tensor(result.getType()))
        cut.addCostOfSink(nodeOf(result), minimumGain + costOfError(result));
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

  // `noLow` is on the source side if no user reads 16 bit; otherwise a value
  // stored in f32 costs one cast to 16 bit.
  Node noLow = cut.addNode();
  int64_t cast = castCost(value) + minimumGain;
  cut.addEdge(from, noLow,
              (hasFreeCopy(value) ? 0 : cast) + costOfError(value));
  // `noWide` is on the sink side if no user reads f32; otherwise a value stored
  // in 16 bit costs one cast to f32.
  Node noWide = cut.addNode();
  cut.addEdge(noWide, from, cast);
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

/// The cost of `value`: its write, its reads and its casts.
Labelling::Cost Labelling::costOfValue(Value value,
                                       const Alternative &alternative) const {
  auto low = [&](Node node) {
    auto it = alternative.find(node);
    return it == alternative.end() ? isLow(node) : it->second;
  };
  int64_t elements = numElements(value);
  Operation *op = value.getDefiningOp();
  bool storedLow = low(nodeOf(value));
  bool castsDown = false, castsUp = false;
  Cost cost;
  if (op && movesBytes(op))
    cost.bytes += elements * (storedLow ? 2 : 4);
  cost.conversions += storedLow && !isTransparent(op);
  for (OpOperand &use : value.getUses()) {
    bool usedLow = low(nodeOf(use));
    castsDown |= usedLow && !storedLow;
    castsUp |= !usedLow && storedLow;
    if (movesBytes(use.getOwner()))
      cost.bytes += numReads(use) * (usedLow ? 2 : 4);
  }
  int casts = (castsDown && !hasFreeCopy(value)) + castsUp;
  cost.bytes += casts * castCost(value);
  cost.conversions += casts;
  return cost;
}

/// The extra cost of `alternative`, which differs only in labels of `op`.
Labelling::Cost Labelling::extraCost(Operation *op,
                                     const Alternative &alternative) const {
  llvm::SmallSetVector<Value, 8> values;
  for (OpOperand &use : op->getOpOperands())
    if (isF32Tensor(use.get().getType()) && alternative.contains(nodeOf(use)))
      values.insert(use.get());
  for (Value result : op->getResults())
    if (isF32Tensor(result.getType()) && alternative.contains(nodeOf(result)))
      values.insert(result);
  Cost more;
  for (Value value : values) {
    Cost with = costOfValue(value, alternative);
    Cost without = costOfValue(value, Alternative());
    more.bytes += with.bytes - without.bytes;
    more.conversions += with.conversions - without.conversions;
  }
  return more;
}

/// Explains why `op`, which has no choice, is f32.
amp::Decision Labelling::explainWide(Operation *op) const {
  auto isLarge = [](Value value) {
    return isF32Tensor(value.getType()) && numElements(value) > 1;
  };
  if (llvm::none_of(op->getOperands(), isLarge) &&
      llvm::none_of(op->getResults(), isLarge))
    return {Rule::PinNumber};
  for (Value result : op->getResults()) {
    if (!isF32Tensor(result.getType()))
      continue;
    if (const TensorFacts &facts = ranges.of(result); facts.exceeds(lowType))
      return explainExcess(facts, lowType);
    if (origins.isUnbounded(result))
      return {Rule::PinInput};
    if (origins.feedsIndex(result))
      return {Rule::PinPlace};
    if (origins.isOfParameters(result))
      return {Rule::PinOfParameters};
  }
  return {Rule::Pin};
}

/// Explains the labels of `op` by the cost of the other choice, all else being
/// equal.
amp::Decision Labelling::explainCost(Operation *op, Alternative other,
                                     bool low) const {
  auto isIn = [&](const auto &nodes) {
    return llvm::any_of(
        other, [&](auto entry) { return nodes.contains(entry.first); });
  };
  if (!low && isIn(apart))
    return {Rule::CutNoProduct};
  if (!low && isIn(poles))
    return {Rule::CutPole};
  if (!low && isIn(pinned))
    return {Rule::CutPinnedOperand};
  if (!low)
    for (OpOperand &use : op->getOpOperands())
      if (other.contains(nodeOf(use)) && !isLow(nodeOf(use.get())) &&
          !hasFreeCopy(use.get())) {
        if (!cast<PrecisionOpInterface>(op).isBounded())
          return {Rule::CutReadsWide};
        other.erase(nodeOf(use));
      }
  Cost more = extraCost(op, other);
  Builder builder(op->getContext());
  Attribute answer = builder.getStringAttr(low ? "f32" : "16 bit");
  if (more.bytes == 0)
    return {Rule::CutSavesNothing, {answer}};
  return {more.bytes > 0 ? Rule::CutMovesMore : Rule::CutSavesTooLittle,
          {answer, builder.getI64IntegerAttr(std::abs(more.bytes))}};
}

/// The cost, in bytes, of the errors of the operands and results of `op`.
int64_t Labelling::costOfErrors(Operation *op) const {
  int64_t cost = 0;
  for (Value value : llvm::concat<Value>(llvm::to_vector(op->getOperands()),
                                         llvm::to_vector(op->getResults())))
    if (isF32Tensor(value.getType()))
      cost += costOfError(value);
  return cost;
}

amp::Decision Labelling::explainErrors(Operation *op) const {
  double error = 0;
  for (Value value : llvm::concat<Value>(llvm::to_vector(op->getOperands()),
                                         llvm::to_vector(op->getResults())))
    if (isF32Tensor(value.getType()))
      error += errorCosts->errorOf(value);
  if (error >= Sensitivity::kUnknown)
    return {Rule::BudgetUnknown};
  return {Rule::Budget,
          {Builder(op->getContext()).getF64FloatAttr(std::sqrt(error))}};
}

amp::Decision Labelling::explain(Operation *op) const {
  const PrecisionOverride &override = overrides.find(op)->second;
  if (override.format)
    return override.decision(op->getContext());

  auto precision = cast<PrecisionOpInterface>(op);
  PrecisionClass kind = classForRange(precision, lowType, ranges);
  bool isWideProduct =
      kind == PrecisionClass::Low &&
      llvm::any_of(op->getOpOperands(), [&](OpOperand &use) {
        return used.contains(&use) && isFree(nodeOf(use)) && !isLow(use);
      });
  if (isWideProduct)
    return explainErrors(op);
  if (kind == PrecisionClass::Low || kind == PrecisionClass::Sensitive)
    return {Rule::Class};
  if (llvm::any_of(op->getResults(), [&](OpResult result) {
        return isF32Tensor(result.getType()) &&
               !isKeptScalar(precision, result) &&
               origins.isParameterGradient(result);
      }))
    return {Rule::PinGradient};

  llvm::SmallSetVector<Node, 4> choices;
  for (Value result : op->getResults())
    if (isFree(nodeOf(result)))
      choices.insert(nodeOf(result));
  for (OpOperand &use : op->getOpOperands())
    if (used.contains(&use) && isFree(nodeOf(use)))
      choices.insert(nodeOf(use));
  if (choices.empty())
    return explainWide(op);

  bool low = isLow(choices.front());
  if (!low && costOfErrors(op) > minimumGain)
    return explainErrors(op);
  Alternative other;
  for (Node node : choices)
    other[node] = !low;
  return explainCost(op, other, low);
}
