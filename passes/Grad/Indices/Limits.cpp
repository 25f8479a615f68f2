//===- Limits.cpp - Limits of integer inputs ------------------------------===//

#include "passes/Grad/Indices/Limits.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;
using train::IntegerOperation;

static constexpr int64_t kNoLow = Limits::kNoLow, kNoHigh = Limits::kNoHigh;

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

Limits mpc::intersect(const Limits &a, const Limits &b) {
  Limits both = {std::max(a.low, b.low), std::min(a.high, b.high), {}};
  for (std::optional<int64_t> label : {a.ignored, b.ignored})
    if (label && a.allows(*label) && b.allows(*label))
      both = unite(both, {both.low, both.high, label});
  return both;
}

Limits mpc::unite(const Limits &a, const Limits &b) {
  Limits any = {std::min(a.low, b.low), std::max(a.high, b.high), a.ignored};
  if (!any.ignored)
    any.ignored = b.ignored;
  if (b.ignored &&
      !any.allows(*b.ignored)) { // Two labels: include those between.
    any.low = std::min(any.low, *b.ignored);
    any.high = std::max(any.high, *b.ignored + 1);
  }
  return any;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

DenseIntElementsAttr mpc::integersOf(Value value) {
  auto constant = value.getDefiningOp<train::ConstantOp>();
  DenseIntElementsAttr elements;
  if (!constant || !matchPattern(constant.getResult(), m_Constant(&elements)) ||
      elements.empty())
    return nullptr;
  return elements;
}

std::optional<IntegerStep> IntegerStep::of(train::IntegerOp op,
                                           unsigned index) {
  DenseIntElementsAttr constants = integersOf(op->getOperand(1 - index));
  if (!constants)
    return std::nullopt;
  IntegerStep step = {op.getKind(), index == 1, kNoHigh, kNoLow};
  for (const APInt &element : constants) {
    step.least = std::min(step.least, element.getSExtValue());
    step.greatest = std::max(step.greatest, element.getSExtValue());
  }
  return step;
}

/// `bound - number`; kNoLow and kNoHigh stay as they are. None on overflow.
static std::optional<int64_t> minus(int64_t bound, int64_t number) {
  if (bound == kNoLow || bound == kNoHigh)
    return bound;
  int64_t difference;
  if (llvm::SubOverflow(bound, number, difference) || difference == kNoLow ||
      difference == kNoHigh)
    return std::nullopt;
  return difference;
}

/// The limits before a number in [least, greatest] is added.
static std::optional<Limits> beforeSum(const Limits &after, int64_t least,
                                       int64_t greatest) {
  auto low = minus(after.low, greatest), high = minus(after.high, least);
  if (!low || !high)
    return std::nullopt;
  Limits limits = {*low, *high, {}};
  if (!after.ignored)
    return limits;
  for (int64_t number : {least, greatest})
    if (auto ignored = minus(*after.ignored, number))
      limits = unite(limits, {limits.low, limits.high, ignored});
  return limits;
}

/// The limits before negation: -x is in [low, high) if x is in [1 - high, 1 -
/// low).
static std::optional<Limits> beforeNegation(const Limits &after) {
  std::optional<int64_t> low = kNoLow, high = kNoHigh;
  if (after.high != kNoHigh)
    low = minus(1, after.high);
  if (after.low != kNoLow)
    high = minus(1, after.low);
  if (!low || !high || after.ignored == kNoLow)
    return std::nullopt;
  Limits limits = {*low, *high, after.ignored};
  if (limits.ignored)
    limits.ignored = -*limits.ignored;
  return limits;
}

/// The limits before a multiplication by a number of at least 1.
static std::optional<Limits> beforeProduct(const Limits &after,
                                           int64_t factor) {
  Limits limits = after;
  if (after.low != kNoLow)
    limits.low = llvm::divideCeilSigned(after.low, factor);
  if (after.high != kNoHigh)
    limits.high = llvm::divideFloorSigned(after.high - 1, factor) + 1;
  if (after.ignored && *after.ignored % factor == 0)
    limits.ignored = *after.ignored / factor;
  else
    limits.ignored = std::nullopt;
  return limits;
}

/// The limits of x given those of max(x, floor).
static std::optional<Limits> beforeMax(const Limits &after, int64_t floor) {
  if (!after.allows(floor)) {
    if (after.high != kNoHigh && floor >= after.high)
      return std::nullopt; // Nothing is left.
    return after.ignored && *after.ignored < floor
               ? Limits{after.low, after.high, {}}
               : after;
  }
  if (after.isInRange(floor))
    return Limits{kNoLow, after.high,
                  after.ignored && *after.ignored > floor ? after.ignored
                                                          : std::nullopt};
  // Everything up to `floor` becomes the ignored label.
  bool isAbove = floor >= after.low;
  return Limits{kNoLow, isAbove ? floor + 1 : after.high, {}};
}

/// The limits of x given those of min(x, ceiling): `beforeMax`, mirrored.
static std::optional<Limits> beforeMin(const Limits &after, int64_t ceiling) {
  if (ceiling == kNoLow)
    return std::nullopt;
  auto mirrored = beforeNegation(after);
  if (mirrored)
    mirrored = beforeMax(*mirrored, -ceiling);
  return mirrored ? beforeNegation(*mirrored) : std::nullopt;
}

/// The limits before a remainder whose results lie in [least, greatest].
static std::optional<Limits> beforeRest(const Limits &after, int64_t least,
                                        int64_t greatest) {
  if (after.isInRange(least) && after.isInRange(greatest))
    return Limits{};
  return std::nullopt;
}

std::optional<Limits> IntegerStep::before(const Limits &after) const {
  using Kind = IntegerOperation;
  const bool isSplat = least == greatest;
  // Bounds without effect.
  if ((operation == Kind::Max && greatest == kNoLow) ||
      (operation == Kind::Min && least == kNoHigh))
    return after;
  // Ensures that the negations and increments below do not overflow.
  if (least == kNoLow || greatest == kNoHigh)
    return std::nullopt;
  switch (operation) {
  case Kind::Add:
    return beforeSum(after, least, greatest);
  case Kind::Sub: {
    if (!isConstantFirst)
      return beforeSum(after, -greatest, -least);
    auto negative = beforeSum(after, least, greatest);
    return negative ? beforeNegation(*negative) : std::nullopt;
  }
  case Kind::Mul:
    if (isSplat && least >= 1)
      return beforeProduct(after, least);
    return isSplat && least == -1 ? beforeNegation(after) : std::nullopt;
  case Kind::Max:
    return isSplat ? beforeMax(after, least) : std::nullopt;
  case Kind::Min:
    return isSplat ? beforeMin(after, least) : std::nullopt;
  case Kind::Mod: // Has the sign of the divisor.
    if (isConstantFirst || !isSplat || least == 0)
      return std::nullopt;
    return beforeRest(after, std::min<int64_t>(least + 1, 0),
                      std::max<int64_t>(least - 1, 0));
  case Kind::Rem: { // Has the sign of the dividend.
    if (isConstantFirst || !isSplat || least == 0)
      return std::nullopt;
    int64_t most = std::abs(least) - 1;
    return beforeRest(after, -most, most);
  }
  default:
    return std::nullopt;
  }
}

//===----------------------------------------------------------------------===//
// Path
//===----------------------------------------------------------------------===//

Path Path::then(const IntegerStep &step, Links &links) const {
  links.push_back({last, step, {}, !isExact()});
  Path longer;
  longer.last = &links.back();
  return longer;
}

Path Path::replacing(ArrayRef<Limits> integers, Links &links) const {
  links.push_back({last, std::nullopt, llvm::to_vector<1>(integers), true});
  Path longer;
  longer.last = &links.back();
  return longer;
}

std::optional<Limits> Path::limitsOfInput(Limits limits) const {
  SmallVector<Limits> replaced; // In reverse order.
  for (const Link *link = last; link; link = link->before) {
    replaced.append(link->replaced.rbegin(), link->replaced.rend());
    if (!link->step)
      continue;
    std::optional<Limits> before = link->step->before(limits);
    if (!before || before->allowsAll())
      return before;
    limits = *before;
  }
  for (const Limits &integers : llvm::reverse(replaced)) {
    bool isOne = integers.low != kNoLow && integers.high != kNoHigh &&
                 integers.high - integers.low == 1;
    // A single value that stands for "no label" becomes `ignored` instead of
    // widening the range.
    if (isOne && !limits.ignored && !limits.allows(integers.low))
      limits.ignored = integers.low;
    else if (!isOne || !limits.allows(integers.low))
      limits = unite(limits, integers);
  }
  return limits;
}
