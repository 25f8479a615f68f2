//===- LimitIndices.cpp - What the integers of an input may be ------------===//
//
// Implements mpc-limit-indices. Starts at each input of integers and follows
// its values through ops that only move them, arithmetic with constants and
// choices between them, to the ops that take them as indices or labels. What
// these allow then goes the way back (Limits.h).
//
// Where a model replaces one label itself, as exporters write a loss with
// ignore_index (`where(labels != -100, labels, 0)`), that label is allowed as
// well. A choice that follows other data says nothing of what it replaces.
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Locations.h"
#include "passes/Grad/EntryPoints.h"
#include "passes/Grad/FlatIndices.h"
#include "passes/Grad/Limits.h"
#include "passes/Grad/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mpc {
#define GEN_PASS_DEF_LIMITINDICESPASS
#include "passes/Grad/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

/// What the uses of one input ask of it.
class InputUses {
public:
  InputUses(BlockArgument input, const FlatIndices &flat)
      : input(input), flat(flat) {
    (void)follow(input, /*isPart=*/false, Path());
  }

  /// Empty if any integer will do.
  std::optional<Limits> limits() const;

  /// The uses as indices that limits() keeps in range.
  SmallVector<OpOperand *> checkedUses() const;

private:
  /// How a value is used.
  struct Found {
    bool asIndex = false, inComparison = false;

    void add(Found other) {
      asIndex |= other.asIndex;
      inComparison |= other.inComparison;
    }
  };
  Found follow(Value value, bool isPart, const Path &path);
  Found visit(OpOperand &use, bool isPart, const Path &path);
  Found visitIndex(OpOperand &use, Limits limits, bool isPart,
                   const Path &path);
  Found visitConcat(train::ConcatOp concat, OpOperand &use, bool isPart,
                    const Path &path);
  Found visitPart(Value part, const Path &path);
  Found visitSelect(train::SelectOp select, OpOperand &use, bool isPart,
                    Path path);
  Found visitInteger(train::IntegerOp op, OpOperand &use, bool isPart,
                     Path path);
  std::optional<SmallVector<Limits>> replacedBy(Value condition,
                                                bool isKeptIfTrue) const;
  std::optional<SmallVector<Limits>> comparedWith(train::CompareOp compare,
                                                  bool isTrue) const;
  std::optional<Path> pathTo(Value value) const;
  /// A model that joins values with themselves again and again has more uses
  /// than can be looked at.
  static constexpr int kMostUses = 100000, kMostConditions = 100;

  BlockArgument input;
  const FlatIndices &flat;
  int uses = 0;
  /// What follow() found of values to which nothing happens on the way.
  llvm::DenseMap<std::pair<Value, unsigned>, Found> followed;
  std::optional<Limits> ofWhole; ///< All must hold.
  std::optional<Limits> ofParts; ///< Slices of the input: one must hold.
  bool hasOthers = false;        ///< Some values may be any integer.
  /// Uses as indices, and what is in range there.
  SmallVector<std::pair<OpOperand *, Limits>> known;
};

} // namespace

/// Rows of a table, from either end.
static Limits rows(int64_t count) { return {-count, count, std::nullopt}; }

template <typename OpTy>
static std::optional<Limits> labels(OpTy op, Value scores, OpOperand &use) {
  if (use.get() != op.getLabels())
    return std::nullopt;
  Limits limits = {0, typeOf(scores).getDimSize(1), std::nullopt};
  if (IntegerAttr ignored = op.getIgnoreIndexAttr())
    limits.ignored = ignored.getInt();
  return limits;
}

/// What an op asks of the indices or labels that it takes; nothing if it takes
/// none as this operand.
static std::optional<Limits> limitsOf(OpOperand &use, const FlatIndices &flat) {
  if (std::optional<int64_t> extent = flat.extentOf(use))
    return Limits{0, *extent, std::nullopt};
  auto ofRows = [&](Value indices, int64_t count) -> std::optional<Limits> {
    if (use.get() != indices)
      return std::nullopt;
    return rows(count);
  };
  using Result = std::optional<Limits>;
  return llvm::TypeSwitch<Operation *, Result>(use.getOwner())
      .Case<train::EmbeddingOp, train::GatherOp>([&](auto op) {
        return ofRows(op.getIndices(), typeOf(op.getTable()).getDimSize(0));
      })
      .Case<train::EmbeddingGradOp, train::LastIndexOp>(
          [&](auto op) { return ofRows(op.getIndices(), op.getRows()); })
      .Case([&](train::ScatterReduceOp op) {
        return ofRows(op.getIndices(), typeOf(op.getInit()).getDimSize(0));
      })
      .Case([&](train::FlatIndexOp op) -> Result {
        return rows(op.getExtents()[op.getAxes()[use.getOperandNumber()]]);
      })
      .Case<train::SoftmaxCrossEntropyOp, train::NllLossOp,
            train::SoftmaxCrossEntropyGradOp, train::NllLossGradOp>(
          [&](auto op) { return labels(op, op.getInput(), use); })
      .Default([](Operation *) { return std::nullopt; });
}

/// The number that all elements of a constant are.
static std::optional<int64_t> numberOf(Value value) {
  DenseIntElementsAttr elements = integersOf(value);
  if (!elements || !elements.isSplat())
    return std::nullopt;
  return elements.getSplatValue<APInt>().getSExtValue();
}

/// Whether all values of the result are values of the operand, or constants.
static bool movesValues(Operation *op) {
  if (isa<train::CastOp>(op)) {
    auto isWide = [](Value value) {
      auto type = dyn_cast<IntegerType>(typeOf(value).getElementType());
      return type && type.getWidth() > 1;
    };
    return isWide(op->getOperand(0)) && isWide(op->getResult(0));
  }
  return isa<train::ReshapeOp, train::TransposeOp, train::BroadcastToOp,
             train::ConcatOp, train::SliceOp, train::SplitOp,
             train::StopGradientOp>(op);
}

/// How `value` is made of the input; none if it is not, or of more than the
/// input and constants.
std::optional<Path> InputUses::pathTo(Value value) const {
  SmallVector<IntegerStep> steps;
  while (Operation *op = value.getDefiningOp()) {
    unsigned index = 0;
    if (auto integer = dyn_cast<train::IntegerOp>(op)) {
      std::optional<IntegerStep> step = IntegerStep::of(integer, 0);
      if (!step)
        step = IntegerStep::of(integer, index = 1);
      if (!step)
        return std::nullopt;
      steps.push_back(*step);
    } else if (op->getNumOperands() != 1 || !movesValues(op)) {
      return std::nullopt;
    }
    value = op->getOperand(index);
  }
  if (value != input)
    return std::nullopt;
  Path path;
  for (const IntegerStep &step : llvm::reverse(steps))
    path.add(step);
  return path;
}

/// Which integers of the input make a comparison with a number true, or false.
/// None if that is not known.
std::optional<SmallVector<Limits>>
InputUses::comparedWith(train::CompareOp compare, bool isTrue) const {
  constexpr int64_t kNoLow = Limits::kNoLow, kNoHigh = Limits::kNoHigh;
  for (unsigned i : {0u, 1u}) {
    std::optional<int64_t> number = numberOf(compare->getOperand(1 - i));
    std::optional<Path> path = pathTo(compare->getOperand(i));
    if (!number || *number == kNoLow || *number >= kNoHigh - 1 || !path)
      continue;
    // Of `x < n` and `n <= x` those below n are on one side.
    const bool isEqual = compare.getComparison() == train::Comparison::Equal;
    const bool orEqual =
        compare.getComparison() == train::Comparison::LessOrEqual;
    const int64_t bound = *number + (orEqual == (i == 0));
    SmallVector<Limits> among;
    if (isEqual && isTrue)
      among = {{*number, *number + 1}};
    else if (isEqual)
      among = {{kNoLow, *number}, {*number + 1, kNoHigh}};
    else if ((i == 0) == isTrue)
      among = {{kNoLow, bound}};
    else
      among = {{bound, kNoHigh}};
    for (Limits &limits : among) {
      std::optional<Limits> before = path->limitsOfInput(limits);
      if (!before)
        return std::nullopt;
      limits = *before;
    }
    return among;
  }
  return std::nullopt;
}

/// Which integers of the input a choice replaces; none if that is not known.
std::optional<SmallVector<Limits>>
InputUses::replacedBy(Value condition, bool isKeptIfTrue) const {
  SmallVector<Limits> replaced;
  SmallVector<std::pair<Value, bool>> work = {{condition, isKeptIfTrue}};
  for (int looked = 0; !work.empty(); ++looked) {
    if (looked == kMostConditions)
      return std::nullopt;
    auto [value, isKept] = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    // Kept where both hold: replaced where either does not.
    bool isEither = isKept ? isa<train::AndOp>(op) : isa<train::OrOp>(op);
    if (isEither || isa<train::ReshapeOp, train::BroadcastToOp>(op)) {
      for (Value operand : op->getOperands())
        work.emplace_back(operand, isKept);
    } else if (isa<train::NotOp>(op)) {
      work.emplace_back(op->getOperand(0), !isKept);
    } else if (auto compare = dyn_cast<train::CompareOp>(op)) {
      auto integers = comparedWith(compare, !isKept);
      if (!integers)
        return std::nullopt;
      replaced.append(*integers);
    } else {
      return std::nullopt;
    }
  }
  return replaced;
}

/// Follows the values through a choice that replaces some of them.
InputUses::Found InputUses::visitSelect(train::SelectOp select, OpOperand &use,
                                        bool isPart, Path path) {
  std::optional<SmallVector<Limits>> replaced;
  if (use.get() != select.getCondition() &&
      select->getOperand(1) != select->getOperand(2))
    replaced = replacedBy(select.getCondition(), use.getOperandNumber() == 1);
  if (!replaced) {
    hasOthers = true;
    return {};
  }
  path.replace(*replaced);
  return follow(select.getResult(), isPart, path);
}

/// Follows the values through arithmetic with constants.
InputUses::Found InputUses::visitInteger(train::IntegerOp op, OpOperand &use,
                                         bool isPart, Path path) {
  std::optional<IntegerStep> step = IntegerStep::of(op, use.getOperandNumber());
  if (!step) {
    hasOthers = true;
    return {};
  }
  path.add(*step);
  return follow(op.getResult(), isPart, path);
}

/// A part that is nothing but compared may hold any number.
InputUses::Found InputUses::visitPart(Value part, const Path &path) {
  Found found = follow(part, /*isPart=*/true, path);
  hasOthers |= found.inComparison && !found.asIndex;
  return found;
}

/// The results of an op that takes a tensor apart, and where each begins along
/// `axis`; none of another op.
static SmallVector<std::pair<Value, int64_t>> partsOf(Operation *op,
                                                      int64_t axis) {
  SmallVector<std::pair<Value, int64_t>> parts;
  if (auto slice = dyn_cast<train::SliceOp>(op))
    parts.emplace_back(slice.getResult(), slice.getOffsets()[axis]);
  auto split = dyn_cast<train::SplitOp>(op);
  if (!split)
    return parts;
  int64_t begin = 0;
  for (Value part : split->getResults()) {
    parts.emplace_back(part, begin);
    if (int64_t(split.getAxis()) == axis)
      begin += typeOf(part).getDimSize(axis);
  }
  return parts;
}

/// What was joined may be taken apart again, as exporters write x[i, j].
InputUses::Found InputUses::visitConcat(train::ConcatOp concat, OpOperand &use,
                                        bool isPart, const Path &path) {
  int64_t axis = concat.getAxis(), begin = 0;
  for (Value other : concat->getOperands().take_front(use.getOperandNumber()))
    begin += typeOf(other).getDimSize(axis);
  int64_t end = begin + typeOf(use.get()).getDimSize(axis);
  RankedTensorType joined = typeOf(concat.getResult());
  Found found;
  for (OpOperand &next : concat.getResult().getUses()) {
    auto parts = partsOf(next.getOwner(), axis);
    if (parts.empty())
      found.add(visit(next, isPart, path));
    for (auto [part, first] : parts) {
      SmallVector<int64_t> shape(typeOf(part).getShape());
      int64_t last = first + shape[axis];
      if (last <= begin || end <= first)
        continue;
      shape[axis] = joined.getDimSize(axis);
      bool isWhole = first <= begin && end <= last &&
                     ArrayRef<int64_t>(shape) == joined.getShape();
      found.add(isWhole ? follow(part, isPart, path) : visitPart(part, path));
    }
  }
  return found;
}

/// Takes what an index asks back to the input.
InputUses::Found InputUses::visitIndex(OpOperand &use, Limits limits,
                                       bool isPart, const Path &path) {
  std::optional<Limits> own = path.limitsOfInput(limits);
  if (own && path.isExact())
    known.emplace_back(&use, *own);
  if (!own || own->allowsAll()) { // Any integer will do, as far as is known.
    hasOthers = true;
    return {/*asIndex=*/true};
  }
  std::optional<Limits> &all = isPart ? ofParts : ofWhole;
  all = !all ? *own : isPart ? unite(*all, *own) : intersect(*all, *own);
  return {/*asIndex=*/true};
}

InputUses::Found InputUses::visit(OpOperand &use, bool isPart,
                                  const Path &path) {
  Operation *op = use.getOwner();
  if (++uses > kMostUses) {
    hasOthers = true;
    return {};
  }
  if (std::optional<Limits> limits = limitsOf(use, flat))
    return visitIndex(use, *limits, isPart, path);
  if (auto integer = dyn_cast<train::IntegerOp>(op))
    return visitInteger(integer, use, isPart, path);
  if (auto select = dyn_cast<train::SelectOp>(op))
    return visitSelect(select, use, isPart, path);
  if (auto concat = dyn_cast<train::ConcatOp>(op))
    return visitConcat(concat, use, isPart, path);
  Found found;
  if (movesValues(op)) {
    bool takesPart = isa<train::SliceOp, train::SplitOp>(op);
    for (Value result : op->getResults())
      found.add(takesPart ? visitPart(result, path)
                          : follow(result, isPart, path));
  } else if (isa<train::CompareOp>(op)) {
    found.inComparison = true;
  } else if (!isa<train::IsCorrectOp, train::IsCountedOp>(op)) {
    hasOthers = true;
  }
  return found;
}

InputUses::Found InputUses::follow(Value value, bool isPart, const Path &path) {
  // Values that are taken apart and joined again are reached in many ways.
  std::pair<Value, unsigned> way(value, isPart);
  if (path.isEmpty())
    if (auto known = followed.find(way); known != followed.end())
      return known->second;
  Found found;
  for (OpOperand &use : value.getUses())
    found.add(visit(use, isPart, path));
  if (path.isEmpty())
    followed[way] = found;
  return found;
}

/// Slices need not be alike: one may be an index of a table, another one of a
/// larger table. If another is no index at all, nothing is known of the input.
std::optional<Limits> InputUses::limits() const {
  if (!ofParts || hasOthers)
    return ofWhole;
  return ofWhole ? intersect(*ofWhole, *ofParts) : ofParts;
}

SmallVector<OpOperand *> InputUses::checkedUses() const {
  std::optional<Limits> checked = limits();
  SmallVector<OpOperand *> uses;
  for (const auto &[use, own] : known)
    if (own.allowsAll() ||
        (checked && checked->low >= own.low && checked->high <= own.high))
      uses.push_back(use);
  return uses;
}

/// Whether an index is always one of the tensor that it was made for.
static bool isAlwaysInRange(Value index) {
  while (Operation *op = index.getDefiningOp()) {
    if (isa<train::ConstantOp, train::ArgExtremeOp, train::TopIndicesOp,
            train::LastIndexOp, train::FlatIndexOp>(op))
      return true;
    if (!movesValues(op) || op->getNumOperands() != 1)
      return false;
    index = op->getOperand(0);
  }
  return false;
}

namespace {

struct LimitIndicesPass : mpc::impl::LimitIndicesPassBase<LimitIndicesPass> {
  using Base::Base;

  void runOnOperation() override {
    llvm::SetVector<StringRef> unchecked;
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal())
        limitInputs(func, unchecked);
    if (!unchecked.empty())
      getOperation()->setAttr(
          kUncheckedIndicesAttr,
          Builder(&getContext()).getStrArrayAttr(unchecked.getArrayRef()));
  }

private:
  static void limitInputs(func::FuncOp func,
                          llvm::SetVector<StringRef> &unchecked) {
    FlatIndices flat(func);
    llvm::DenseSet<OpOperand *> checked;
    for (BlockArgument input : func.getArguments()) {
      auto type = dyn_cast<IntegerType>(typeOf(input).getElementType());
      if (!type || type.getWidth() == 1)
        continue;
      InputUses uses(input, flat);
      limit(func, input, uses.limits());
      checked.insert_range(uses.checkedUses());
    }
    func.walk([&](Operation *op) {
      for (OpOperand &use : op->getOpOperands())
        if (limitsOf(use, flat) && !checked.contains(&use) &&
            !flat.isFlat(use) && !isAlwaysInRange(use.get()) &&
            !nodeName(op->getLoc()).empty())
          unchecked.insert(nodeName(op->getLoc()));
    });
  }

  static void limit(func::FuncOp func, BlockArgument input,
                    std::optional<Limits> limits) {
    if (!limits)
      return;
    unsigned number = input.getArgNumber();
    if (auto range = func.getArgAttrOfType<ArrayAttr>(number, kRangeAttr)) {
      Limits known = {cast<IntegerAttr>(range[0]).getInt(),
                      cast<IntegerAttr>(range[1]).getInt(), std::nullopt};
      if (auto label = func.getArgAttrOfType<IntegerAttr>(number, kIgnoredAttr))
        known.ignored = label.getInt();
      limits = intersect(*limits, known);
    }
    Builder builder(func.getContext());
    func.setArgAttr(number, kRangeAttr,
                    builder.getI64ArrayAttr({limits->low, limits->high}));
    func.removeArgAttr(number, kIgnoredAttr);
    if (limits->ignored)
      func.setArgAttr(number, kIgnoredAttr,
                      builder.getI64IntegerAttr(*limits->ignored));
  }
};

} // namespace
