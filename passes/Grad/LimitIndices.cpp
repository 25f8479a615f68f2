//===- LimitIndices.cpp - Valid ranges of integer inputs ------------------===//
//
// Implements mpc-limit-indices. Starts at each integer input and follows its
// values through ops that only move them, arithmetic with constants and
// selects, to the ops that take them as indices or labels. The limits of these
// are mapped back to the input (Limits.h).
//
// Where a model replaces one label itself, as exporters write a loss with
// ignore_index (`where(labels != -100, labels, 0)`), that label is allowed as
// well. If the condition depends on other data, the replaced values are
// unknown.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/IR/Views.h"
#include "compiler/Support/Locations.h"
#include "passes/Grad/EntryPoints.h"
#include "passes/Grad/Indices/FlatIndices.h"
#include "passes/Grad/Indices/Limits.h"
#include "passes/Grad/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

#include <vector>

namespace mpc {
#define GEN_PASS_DEF_LIMITINDICESPASS
#include "passes/Grad/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

/// The limits that the uses of one input impose on it.
class InputUses {
public:
  InputUses(BlockArgument input, const FlatIndices &flat)
      : input(input), flat(flat) {
    follow();
  }

  /// Empty if any integer is allowed.
  std::optional<Limits> limits() const;

  /// The uses as indices that are in range if the input is within limits().
  SmallVector<OpOperand *> checkedUses() const;

private:
  /// How a value is used.
  struct UseSummary {
    bool asIndex = false, inComparison = false;

    void add(UseSummary other) {
      asIndex |= other.asIndex;
      inComparison |= other.inComparison;
    }
  };

  /// How values of the input reached a use.
  struct UsePath {
    bool isPart = false; ///< Only a part of the input.
    Path path;
  };

  /// Uses of a value, or a single use, that remain to be visited.
  struct Pending {
    Value value;    ///< Null: `use` alone.
    OpOperand *use; ///< The next use; null if there is none.
    UsePath usePath;
    bool isNewPart = false; ///< `value` is the part taken by this slice.
    UseSummary summary = {};
    std::vector<Pending> inner =
        {}; ///< Values reached by the last use, reversed.
  };
  static Pending allUses(Value value, UsePath usePath) {
    OpOperand *first = value.use_empty() ? nullptr : &*value.use_begin();
    return {value, first, usePath};
  }
  static Pending usesOfPart(Value part, UsePath usePath) {
    Pending pending = allUses(part, {/*isPart=*/true, usePath.path});
    pending.isNewPart = true;
    return pending;
  }

  void follow();
  void finishValue(const Pending &done, Pending *outer);
  // Each visits one use and appends the values to follow from there.
  using Next = std::vector<Pending>;
  UseSummary visit(OpOperand &use, UsePath usePath, Next &next);
  UseSummary visitIndex(OpOperand &use, Limits limits, UsePath usePath);
  void visitJoin(train::JoinOpInterface join, OpOperand &use, UsePath usePath,
                 Next &next);
  void visitSelect(train::SelectOp select, OpOperand &use, UsePath usePath,
                   Next &next);
  void visitInteger(train::IntegerOp op, OpOperand &use, UsePath usePath,
                    Next &next);
  std::optional<SmallVector<Limits>> replacedBy(Value condition,
                                                bool isKeptIfTrue) const;
  std::optional<SmallVector<Limits>> comparedWith(train::CompareOp compare,
                                                  bool isTrue) const;
  std::optional<Path> pathTo(Value value, Path::Links &links) const;
  /// A model that repeatedly concatenates values with themselves has too many
  /// uses to visit them all.
  static constexpr int kMaxUses = 100000, kMaxConditions = 100;

  BlockArgument input;
  const FlatIndices &flat;
  int uses = 0;
  Path::Links links;
  /// Results for values that are reached without arithmetic.
  llvm::DenseMap<std::pair<Value, unsigned>, UseSummary> followed;
  std::optional<Limits> ofWhole; ///< Intersection over all uses.
  std::optional<Limits> ofParts; ///< Union over slices of the input.
  bool hasOthers = false;        ///< Some parts may be any integer.
  /// Uses as indices, and the limits of the input for each.
  SmallVector<std::pair<OpOperand *, Limits>> known;
};

} // namespace

/// The limits of the indices or labels that an op takes; none if this operand
/// is neither.
static std::optional<Limits> limitsOf(OpOperand &use, const FlatIndices &flat) {
  if (std::optional<int64_t> extent = flat.extentOf(use))
    return Limits{0, *extent, std::nullopt};
  auto op = dyn_cast<train::IndexOpInterface>(use.getOwner());
  if (!op)
    return std::nullopt;
  std::optional<train::IndexRange> range =
      op.getIndexRange(use.getOperandNumber());
  if (!range)
    return std::nullopt;
  return Limits{range->low, range->high, range->ignored};
}

/// The value of a splat integer constant.
static std::optional<int64_t> numberOf(Value value) {
  DenseIntElementsAttr elements = integersOf(value);
  if (!elements || !elements.isSplat())
    return std::nullopt;
  return elements.getSplatValue<APInt>().getSExtValue();
}

/// Whether the result contains only elements of integer operands.
static bool movesValues(Operation *op) {
  auto isInteger = [](Value value) {
    auto type = dyn_cast<IntegerType>(typeOf(value).getElementType());
    return type && type.getWidth() > 1;
  };
  return isa<train::MoveOpInterface>(op) &&
         llvm::all_of(op->getOperands(), isInteger) &&
         llvm::all_of(op->getResults(), isInteger);
}

static bool takesPart(Operation *op) {
  return cast<train::MoveOpInterface>(op).getMove() == train::Move::Picked;
}

/// The path from the input to `value`; none if `value` is not computed from the
/// input and constants alone.
std::optional<Path> InputUses::pathTo(Value value, Path::Links &links) const {
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
    path = path.then(step, links);
  return path;
}

/// The integers of the input for which a comparison with a number is `isTrue`.
/// None if they are not known.
std::optional<SmallVector<Limits>>
InputUses::comparedWith(train::CompareOp compare, bool isTrue) const {
  constexpr int64_t kNoLow = Limits::kNoLow, kNoHigh = Limits::kNoHigh;
  Path::Links links;
  for (unsigned i : {0u, 1u}) {
    std::optional<int64_t> number = numberOf(compare->getOperand(1 - i));
    std::optional<Path> path = pathTo(compare->getOperand(i), links);
    if (!number || *number == kNoLow || *number >= kNoHigh - 1 || !path)
      continue;
    // Both `x < n` and `n <= x` separate the numbers below n.
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

/// The integers of the input that a select replaces; none if they are not
/// known.
std::optional<SmallVector<Limits>>
InputUses::replacedBy(Value condition, bool isKeptIfTrue) const {
  SmallVector<Limits> replaced;
  SmallVector<std::pair<Value, bool>> work = {{condition, isKeptIfTrue}};
  for (int looked = 0; !work.empty(); ++looked) {
    if (looked == kMaxConditions)
      return std::nullopt;
    auto [value, isKept] = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    // If a value is kept where both conditions hold, it is replaced where
    // either does not.
    bool isEither = isKept ? isa<train::AndOp>(op) : isa<train::OrOp>(op);
    auto move = dyn_cast<train::MoveOpInterface>(op);
    bool repeats = move && move.getMove() == train::Move::Repeated;
    if (isEither || repeats || train::isReshape(op)) {
      for (Value operand : op->getOperands())
        work.emplace_back(operand, isKept);
    } else if (auto opposite = dyn_cast<train::NotOp>(op)) {
      work.emplace_back(opposite.getInput(), !isKept);
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

/// Follows the values through a select that replaces some of them.
void InputUses::visitSelect(train::SelectOp select, OpOperand &use,
                            UsePath usePath, Next &next) {
  std::optional<SmallVector<Limits>> replaced;
  if (use.get() != select.getCondition() &&
      select->getOperand(1) != select->getOperand(2))
    replaced = replacedBy(select.getCondition(), use.getOperandNumber() == 1);
  if (!replaced) {
    hasOthers = true;
    return;
  }
  usePath.path = usePath.path.replacing(*replaced, links);
  next.push_back(allUses(select.getResult(), usePath));
}

/// Follows the values through arithmetic with constants.
void InputUses::visitInteger(train::IntegerOp op, OpOperand &use,
                             UsePath usePath, Next &next) {
  std::optional<IntegerStep> step = IntegerStep::of(op, use.getOperandNumber());
  if (!step) {
    hasOthers = true;
    return;
  }
  usePath.path = usePath.path.then(*step, links);
  next.push_back(allUses(op.getResult(), usePath));
}

/// Concatenated values may be sliced apart again, as exporters write x[i, j].
void InputUses::visitJoin(train::JoinOpInterface join, OpOperand &use,
                          UsePath usePath, Next &next) {
  int64_t axis = join.getJoinAxis(), begin = 0;
  for (Value other : join->getOperands().take_front(use.getOperandNumber()))
    begin += typeOf(other).getDimSize(axis);
  int64_t end = begin + typeOf(use.get()).getDimSize(axis);
  RankedTensorType joined = typeOf(join->getResult(0));
  for (OpOperand &further : join->getResult(0).getUses()) {
    auto parts = dyn_cast<train::SplitOpInterface>(further.getOwner());
    if (!parts) {
      next.push_back({Value(), &further, usePath});
      continue;
    }
    for (OpResult part : parts->getResults()) {
      SmallVector<int64_t> shape(typeOf(part).getShape());
      int64_t first = parts.getPartOffsets(part.getResultNumber())[axis];
      int64_t last = first + shape[axis];
      if (last <= begin || end <= first)
        continue;
      shape[axis] = joined.getDimSize(axis);
      bool isWhole = first <= begin && end <= last &&
                     ArrayRef<int64_t>(shape) == joined.getShape();
      next.push_back(isWhole ? allUses(part, usePath)
                             : usesOfPart(part, usePath));
    }
  }
}

/// Maps the limits of an index back to the input.
InputUses::UseSummary InputUses::visitIndex(OpOperand &use, Limits limits,
                                            UsePath usePath) {
  if (limits.allowsAll()) // Labels that are only compared.
    return {};
  std::optional<Limits> own = usePath.path.limitsOfInput(limits);
  if (own && usePath.path.isExact())
    known.emplace_back(&use, *own);
  if (!own || own->allowsAll()) { // Any integer may be allowed.
    hasOthers = true;
    return {/*asIndex=*/true};
  }
  std::optional<Limits> &all = usePath.isPart ? ofParts : ofWhole;
  all = !all             ? *own
        : usePath.isPart ? unite(*all, *own)
                         : intersect(*all, *own);
  return {/*asIndex=*/true};
}

InputUses::UseSummary InputUses::visit(OpOperand &use, UsePath usePath,
                                       Next &next) {
  Operation *op = use.getOwner();
  if (++uses > kMaxUses) {
    hasOthers = true;
    return {};
  }
  if (std::optional<Limits> limits = limitsOf(use, flat))
    return visitIndex(use, *limits, usePath);
  if (auto integer = dyn_cast<train::IntegerOp>(op)) {
    visitInteger(integer, use, usePath, next);
  } else if (auto select = dyn_cast<train::SelectOp>(op)) {
    visitSelect(select, use, usePath, next);
  } else if (auto join = dyn_cast<train::JoinOpInterface>(op)) {
    visitJoin(join, use, usePath, next);
  } else if (movesValues(op)) {
    for (Value result : op->getResults())
      next.push_back(takesPart(op) ? usesOfPart(result, usePath)
                                   : allUses(result, usePath));
  } else if (isa<train::CompareOp>(op)) {
    return {/*asIndex=*/false, /*inComparison=*/true};
  } else {
    hasOthers = true;
  }
  return {};
}

/// Merges the results into those of the value that it was reached from.
void InputUses::finishValue(const Pending &done, Pending *outer) {
  // A part that is only compared may hold any number.
  if (done.isNewPart)
    hasOthers |= done.summary.inComparison && !done.summary.asIndex;
  if (outer)
    outer->summary.add(done.summary);
}

/// Visits all uses, depth first.
void InputUses::follow() {
  std::vector<Pending> stack = {allUses(input, UsePath())};
  while (!stack.empty()) {
    Pending &top = stack.back();
    if (!top.inner.empty()) {
      Pending inner = std::move(top.inner.back());
      top.inner.pop_back();
      // Values that are sliced and concatenated again are reached on many
      // paths.
      auto known = followed.find({inner.value, inner.usePath.isPart});
      if (inner.value && inner.usePath.path.isEmpty() &&
          known != followed.end()) {
        inner.summary = known->second;
        finishValue(inner, &top);
      } else {
        stack.push_back(std::move(inner));
      }
    } else if (top.use) {
      OpOperand &use = *top.use;
      top.use = nullptr;
      if (top.value)
        top.use = static_cast<OpOperand *>(use.getNextOperandUsingThisValue());
      top.summary.add(visit(use, top.usePath, top.inner));
      std::reverse(top.inner.begin(), top.inner.end());
    } else {
      Pending done = std::move(stack.back());
      stack.pop_back();
      if (done.value && done.usePath.path.isEmpty())
        followed[{done.value, done.usePath.isPart}] = done.summary;
      finishValue(done, stack.empty() ? nullptr : &stack.back());
    }
  }
}

/// Slices may have different limits: they may be indices of tables of different
/// sizes. If a slice is not an index at all, nothing is known about the input.
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

/// Whether an index is in range by construction.
static bool isAlwaysInRange(Value index) {
  while (Operation *op = index.getDefiningOp()) {
    if (op->hasTrait<OpTrait::ConstantLike>() ||
        op->hasTrait<train::MakesIndices>())
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
      for (OpOperand &use : op->getOpOperands()) {
        std::optional<Limits> limits = limitsOf(use, flat);
        if (limits && !limits->allowsAll() && !checked.contains(&use) &&
            !flat.isFlat(use) && !isAlwaysInRange(use.get()) &&
            !nodeName(op->getLoc()).empty())
          unchecked.insert(nodeName(op->getLoc()));
      }
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
