//===- LimitIndices.cpp - What the integers of an input may be ------------===//
//
// Implements mpc-limit-indices. Starts at each input of integers and follows
// its values through ops that only move them, to the ops that take them as
// indices or labels. Where a model masks one label itself, as exporters write
// a loss with ignore_index (`where(labels != -100, labels, 0)`), that label is
// allowed as well.
//
//===----------------------------------------------------------------------===//

#include "passes/Grad/EntryPoints.h"
#include "passes/Grad/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>
#include <tuple>

namespace mpc {
#define GEN_PASS_DEF_LIMITINDICESPASS
#include "passes/Grad/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

/// Integers in [low, high), and one more.
struct Limits {
  int64_t low, high;
  std::optional<int64_t> ignored;

  bool allows(int64_t value) const {
    return (value >= low && value < high) || value == ignored;
  }
};

/// What the uses of one input ask of it.
class InputUses {
public:
  explicit InputUses(BlockArgument input) : input(input) {
    (void)follow(input, /*isPart=*/false, std::nullopt);
  }

  /// Empty if any integer will do.
  std::optional<Limits> limits() const;

private:
  /// How a value is used.
  struct Found {
    bool asIndex = false, inComparison = false;

    void add(Found other) {
      asIndex |= other.asIndex;
      inComparison |= other.inComparison;
    }
  };
  Found follow(Value value, bool isPart, std::optional<int64_t> ignored);
  Found visit(OpOperand &use, bool isPart, std::optional<int64_t> ignored);
  Found visitConcat(train::ConcatOp concat, OpOperand &use, bool isPart,
                    std::optional<int64_t> ignored);
  Found visitPart(Value part, std::optional<int64_t> ignored);
  Found visitSelect(train::SelectOp select, OpOperand &use, bool isPart,
                    std::optional<int64_t> ignored);
  std::optional<int64_t> comparedNumber(Value condition) const;
  bool comesFromInput(Value value) const;

  BlockArgument input;
  /// How values are used that were followed already, by what follow() was told.
  std::map<std::tuple<void *, bool, std::optional<int64_t>>, Found> followed;
  std::optional<Limits> ofWhole; ///< All must hold.
  std::optional<Limits> ofParts; ///< Slices of the input: one must hold.
  bool hasOthers = false;        ///< Some values are no index.
};

} // namespace

/// What both allow.
static Limits intersect(const Limits &a, const Limits &b) {
  Limits both = {std::max(a.low, b.low), std::min(a.high, b.high), {}};
  if (a.ignored && b.allows(*a.ignored))
    both.ignored = a.ignored;
  else if (b.ignored && a.allows(*b.ignored))
    both.ignored = b.ignored;
  return both;
}

/// What either allows, or more.
static Limits unite(const Limits &a, const Limits &b) {
  Limits any = {std::min(a.low, b.low), std::max(a.high, b.high), a.ignored};
  if (!any.ignored)
    any.ignored = b.ignored;
  if (b.ignored && !any.allows(*b.ignored)) { // Two labels: those between, too.
    any.low = std::min(any.low, *b.ignored);
    any.high = std::max(any.high, *b.ignored + 1);
  }
  return any;
}

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
static std::optional<Limits> limitsOf(OpOperand &use) {
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

bool InputUses::comesFromInput(Value value) const {
  while (Operation *op = value.getDefiningOp()) {
    if (op->getNumOperands() != 1 || !movesValues(op))
      return false;
    value = op->getOperand(0);
  }
  return value == input;
}

/// The number that a condition compares values of the input with.
std::optional<int64_t> InputUses::comparedNumber(Value condition) const {
  auto compare = condition.getDefiningOp<train::CompareOp>();
  if (!compare || compare.getComparison() != train::Comparison::Equal)
    return std::nullopt;
  for (unsigned i : {0u, 1u}) {
    auto constant =
        compare->getOperand(1 - i).getDefiningOp<train::ConstantOp>();
    DenseIntElementsAttr elements;
    if (!constant ||
        !matchPattern(constant.getResult(), m_Constant(&elements)) ||
        !elements.isSplat() || !comesFromInput(compare->getOperand(i)))
      continue;
    return elements.getSplatValue<APInt>().getSExtValue();
  }
  return std::nullopt;
}

/// Follows the values through a choice that replaces those equal to a number.
InputUses::Found InputUses::visitSelect(train::SelectOp select, OpOperand &use,
                                        bool isPart,
                                        std::optional<int64_t> ignored) {
  Value condition = select.getCondition();
  unsigned kept = 2; // Where the condition is false.
  while (Operation *op = condition.getDefiningOp()) {
    if (isa<train::NotOp>(op))
      kept = 3 - kept;
    else if (!isa<train::ReshapeOp, train::BroadcastToOp>(op))
      break;
    condition = op->getOperand(0);
  }
  std::optional<int64_t> number = comparedNumber(condition);
  if (number && use.getOperandNumber() == kept &&
      (!ignored || ignored == number))
    return follow(select.getResult(), isPart, number);
  hasOthers = true;
  return {};
}

/// A part that is nothing but compared may hold any number.
InputUses::Found InputUses::visitPart(Value part,
                                      std::optional<int64_t> ignored) {
  Found found = follow(part, /*isPart=*/true, ignored);
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
                                        bool isPart,
                                        std::optional<int64_t> ignored) {
  int64_t axis = concat.getAxis(), begin = 0;
  for (Value other : concat->getOperands().take_front(use.getOperandNumber()))
    begin += typeOf(other).getDimSize(axis);
  int64_t end = begin + typeOf(use.get()).getDimSize(axis);
  RankedTensorType joined = typeOf(concat.getResult());
  Found found;
  for (OpOperand &next : concat.getResult().getUses()) {
    auto parts = partsOf(next.getOwner(), axis);
    if (parts.empty())
      found.add(visit(next, isPart, ignored));
    for (auto [part, first] : parts) {
      SmallVector<int64_t> shape(typeOf(part).getShape());
      int64_t last = first + shape[axis];
      if (last <= begin || end <= first)
        continue;
      shape[axis] = joined.getDimSize(axis);
      bool isWhole = first <= begin && end <= last &&
                     ArrayRef<int64_t>(shape) == joined.getShape();
      found.add(isWhole ? follow(part, isPart, ignored)
                        : visitPart(part, ignored));
    }
  }
  return found;
}

InputUses::Found InputUses::visit(OpOperand &use, bool isPart,
                                  std::optional<int64_t> ignored) {
  Operation *op = use.getOwner();
  if (std::optional<Limits> limits = limitsOf(use)) {
    if (!limits->ignored)
      limits->ignored = ignored;
    std::optional<Limits> &all = isPart ? ofParts : ofWhole;
    all = !all     ? *limits
          : isPart ? unite(*all, *limits)
                   : intersect(*all, *limits);
    return {/*asIndex=*/true};
  }
  if (auto select = dyn_cast<train::SelectOp>(op))
    return visitSelect(select, use, isPart, ignored);
  if (auto concat = dyn_cast<train::ConcatOp>(op))
    return visitConcat(concat, use, isPart, ignored);
  Found found;
  if (movesValues(op)) {
    bool takesPart = isa<train::SliceOp, train::SplitOp>(op);
    for (Value result : op->getResults())
      found.add(takesPart ? visitPart(result, ignored)
                          : follow(result, isPart, ignored));
  } else if (isa<train::CompareOp>(op)) {
    found.inComparison = true;
  } else if (!isa<train::IsCorrectOp, train::IsCountedOp>(op)) {
    hasOthers = true;
  }
  return found;
}

InputUses::Found InputUses::follow(Value value, bool isPart,
                                   std::optional<int64_t> ignored) {
  // What is taken apart and joined again comes by many ways.
  std::tuple way(value.getAsOpaquePointer(), isPart, ignored);
  auto known = followed.find(way);
  if (known != followed.end())
    return known->second;
  Found found;
  for (OpOperand &use : value.getUses())
    found.add(visit(use, isPart, ignored));
  return followed[way] = found;
}

/// Slices need not be alike: one may be an index of a table, another one of a
/// larger table. If another is no index at all, nothing is known of the input.
std::optional<Limits> InputUses::limits() const {
  if (!ofParts || hasOthers)
    return ofWhole;
  return ofWhole ? intersect(*ofWhole, *ofParts) : ofParts;
}

namespace {

struct LimitIndicesPass : mpc::impl::LimitIndicesPassBase<LimitIndicesPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    for (BlockArgument input : func.getArguments()) {
      auto type = dyn_cast<IntegerType>(typeOf(input).getElementType());
      if (type && type.getWidth() > 1)
        limit(func, input);
    }
  }

private:
  static void limit(func::FuncOp func, BlockArgument input) {
    std::optional<Limits> limits = InputUses(input).limits();
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
