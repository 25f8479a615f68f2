//===- Ranges.cpp - Ranges of the values of a function --------------------===//

#include "compiler/Analysis/Ranges.h"

#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Support/HalfFloat.h"

#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/SparseAnalysis.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace mpc;
using amp::NumberRange;
using amp::PrecisionOpInterface;

static constexpr double kInfinity = NumberRange::kInfinity;
static constexpr double kLargest = std::numeric_limits<float>::max();

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static ArrayRef<char> rawBytes(ElementsAttr elements) {
  if (auto dense = dyn_cast<DenseElementsAttr>(elements))
    return dense.getRawData();
  auto resource = dyn_cast<DenseResourceElementsAttr>(elements);
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  return blob ? blob->getData() : ArrayRef<char>();
}

namespace {

/// Statistics of numbers. These may be all the weights of a frozen model: there
/// are no branches, so that a scan runs at memory speed.
template <typename Number> struct Scan {
  using Limits = std::numeric_limits<Number>;
  Number low = Limits::max(), high = Limits::lowest(), least = Limits::max();
  bool hasInfinity = false, hasMinusInfinity = false, hasNan = false;
  bool isEmpty = true;

  template <typename Stored, typename Widen>
  void run(ArrayRef<char> bytes, Widen widen) {
    const auto *data = reinterpret_cast<const Stored *>(bytes.data());
    size_t size = bytes.size() / sizeof(Stored);
    isEmpty = size == 0;
    for (size_t i = 0; i < size; ++i)
      add(widen(data[i]));
  }

  void add(Number x) {
    Number size = x < 0 ? -x : x;
    hasNan |= x != x;
    hasInfinity |= x > Limits::max();
    hasMinusInfinity |= x < Limits::lowest();
    bool isFinite = size <= Limits::max();
    low = isFinite && x < low ? x : low;
    high = isFinite && x > high ? x : high;
    least = isFinite && x != 0 && size < least ? size : least;
  }

  TensorFacts facts() const {
    TensorFacts facts;
    // Any statement is true for the finite elements of a tensor without any.
    facts.range = low > high ? NumberRange::within(0, 0)
                             : NumberRange::within(double(low), double(high));
    facts.range.mayBeInfinite = hasInfinity || hasMinusInfinity;
    facts.range.mayBeNan = hasNan;
    facts.isMasked = hasMinusInfinity;
    if (low > high || (low == 0 && high == 0))
      return facts;
    facts.largest = std::max(std::abs(double(low)), std::abs(double(high)));
    facts.smallest = double(least);
    // Rounded down to eight binary digits.
    facts.range.least = std::max(
        facts.range.least, NumberRange::within(facts.smallest, kInfinity).low);
    return facts;
  }
};

template <typename Number, typename Stored, typename Widen>
TensorFacts scan(ElementsAttr elements, Widen widen) {
  Scan<Number> scan;
  scan.template run<Stored>(rawBytes(elements), widen);
  return scan.facts();
}

} // namespace

static TensorFacts scanElements(ElementsAttr elements) {
  auto same = [](auto x) { return x; };
  Type type = elements.getElementType();
  if (type.isF32())
    return scan<float, float>(elements, same);
  if (type.isF64())
    return scan<double, double>(elements, same);
  if (type.isBF16())
    return scan<float, uint16_t>(elements, bfloatToFloat);
  if (type.isF16())
    return scan<float, uint16_t>(elements, halfToFloat);
  auto toDouble = [](auto x) { return double(x); };
  if (type.isInteger(64))
    return scan<double, int64_t>(elements, toDouble);
  if (type.isInteger(32))
    return scan<double, int32_t>(elements, toDouble);
  return TensorFacts();
}

TensorFacts mpc::factsOf(ElementsAttr elements, ConstantFacts &known) {
  auto [it, isNew] = known.try_emplace(elements);
  if (isNew) {
    it->second = scanElements(elements);
    // Worst-case norms of rows: for large tensors the interval suffices.
    double extent = elements.getShapedType().getRank() > 0
                        ? elements.getShapedType().getShape().back()
                        : 1;
    NumberRange &range = it->second.range;
    range.rowSum = extent * range.maxMagnitude();
    range.rowNorm = std::sqrt(extent) * range.maxMagnitude();
  }
  return it->second;
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

static double smallestOf(FloatType type) {
  return llvm::APFloat::getSmallest(type.getFloatSemantics()).convertToDouble();
}

bool TensorFacts::exceeds(FloatType type) const {
  // Numbers up to half the smallest number of `type` are rounded to 0.
  return largest > amp::largestOf(type) || range.isBeyond(type) ||
         (smallest > 0 && smallest <= smallestOf(type) / 2);
}

std::optional<double> TensorFacts::findTooLarge(FloatType type) const {
  double most = amp::largestOf(type);
  if (largest > most)
    return largest;
  if (range.isBeyond(type))
    return std::min(std::abs(range.low), std::abs(range.high));
  return std::nullopt;
}

static double smallerOf(double a, double b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

TensorFacts TensorFacts::join(const TensorFacts &a, const TensorFacts &b) {
  TensorFacts both;
  both.range = amp::hullOf(a.range, b.range);
  both.largest = std::max(a.largest, b.largest);
  both.smallest = smallerOf(a.smallest, b.smallest);
  both.isMasked = a.isMasked || b.isMasked;
  return both;
}

bool TensorFacts::operator==(const TensorFacts &other) const {
  return range == other.range && largest == other.largest &&
         smallest == other.smallest && isMasked == other.isMasked;
}

//===----------------------------------------------------------------------===//
// Flow
//===----------------------------------------------------------------------===//

namespace {

/// The facts about a value; none before it is visited.
class FactsLattice : public dataflow::AbstractSparseLattice {
public:
  using AbstractSparseLattice::AbstractSparseLattice;

  ChangeResult join(const AbstractSparseLattice &other) override {
    const auto &rhs = static_cast<const FactsLattice &>(other);
    return rhs.isKnown ? join(rhs.facts) : ChangeResult::NoChange;
  }

  ChangeResult join(const TensorFacts &other) {
    TensorFacts joined = isKnown ? TensorFacts::join(facts, other) : other;
    if (isKnown && joined == facts)
      return ChangeResult::NoChange;
    facts = joined, isKnown = true;
    return ChangeResult::Change;
  }

  void print(raw_ostream &os) const override { facts.print(os); }

  TensorFacts facts;
  bool isKnown = false;
};

class RangeAnalysis
    : public dataflow::SparseForwardDataFlowAnalysis<FactsLattice> {
public:
  RangeAnalysis(DataFlowSolver &solver, ConstantFacts &constants,
                llvm::StringSet<> written)
      : SparseForwardDataFlowAnalysis(solver), constants(constants),
        written(std::move(written)) {}

  LogicalResult visitOperation(Operation *op,
                               ArrayRef<const FactsLattice *> operands,
                               ArrayRef<FactsLattice *> results) override;
  void setToEntryState(FactsLattice *lattice) override;

private:
  std::optional<TensorFacts> factsOfSource(Operation *op);

  ConstantFacts &constants;
  llvm::StringSet<> written; ///< States that functions change.
};

} // namespace

/// An input may hold anything, including a mask.
void RangeAnalysis::setToEntryState(FactsLattice *lattice) {
  TensorFacts facts;
  facts.isMasked =
      isa<FloatType>(getElementTypeOrSelf(lattice->getAnchor().getType()));
  propagateIfChanged(lattice, lattice->join(facts));
}

/// Facts about constants and about states that never change.
std::optional<TensorFacts> RangeAnalysis::factsOfSource(Operation *op) {
  if (auto constant = dyn_cast<train::ConstantOp>(op)) {
    // Loss scaling multiplies the seed of the backward pass by a factor that
    // changes.
    if (op->hasAttr(kLossSeedAttr))
      return TensorFacts();
    return factsOf(constant.getValue(), constants);
  }
  auto read = dyn_cast<train::ReadOp>(op);
  if (!read)
    return std::nullopt;
  TensorFacts facts;
  train::StateOp state = read.getStateOp();
  bool isCopy = state && state.getKind() == train::StateKind::WorkingCopy;
  if (isCopy)
    state = state.getOfState();
  if (!state || state.getKind() != train::StateKind::Constant ||
      !state.getInitialValueAttr() || written.contains(state.getSymName()))
    return facts;
  facts = factsOf(state.getInitialValueAttr(), constants);
  if (isCopy) { // The working copy is rounded.
    auto type = cast<FloatType>(getElementTypeOrSelf(read.getType()));
    facts.range.mayBeInfinite |=
        facts.range.maxMagnitude() > amp::largestOf(type);
  }
  facts.smallest = 0; // Frozen tables may lose their smallest elements.
  return facts;
}

static bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

/// True for ops after which constants no longer determine magnitudes.
static bool endsConstants(Operation *op) {
  auto precision = dyn_cast<PrecisionOpInterface>(op);
  return precision &&
         (precision.isBounded() ||
          precision.getPrecisionClass(nullptr) == amp::PrecisionClass::Low);
}

/// The influence of constants on the results. Indices and conditions only
/// select: they are not part of the result.
static TensorFacts carriedInto(Operation *op,
                               ArrayRef<const FactsLattice *> operands) {
  TensorFacts carried;
  if (endsConstants(op))
    return carried;
  bool floats = llvm::any_of(op->getOperands(), isFloat);
  int halves = 0; // The sum of two of these exceeds the range of f32.
  for (auto [operand, lattice] : llvm::zip(op->getOperands(), operands)) {
    if (floats ? !isFloat(operand) : getElementTypeOrSelf(operand).isInteger(1))
      continue;
    const TensorFacts &facts = lattice->facts;
    carried.largest = std::max(carried.largest, facts.largest);
    carried.smallest = smallerOf(carried.smallest, facts.smallest);
    carried.isMasked |= facts.isMasked;
    halves += facts.largest > kLargest / 2;
  }
  carried.isMasked |= halves > 1;
  return carried;
}

LogicalResult
RangeAnalysis::visitOperation(Operation *op,
                              ArrayRef<const FactsLattice *> operands,
                              ArrayRef<FactsLattice *> results) {
  auto set = [&](FactsLattice *result, const TensorFacts &facts) {
    propagateIfChanged(result, result->join(facts));
  };
  if (std::optional<TensorFacts> facts = factsOfSource(op)) {
    set(results[0], *facts);
    return success();
  }
  SmallVector<NumberRange> known, found(results.size());
  for (const FactsLattice *operand : operands)
    known.push_back(operand->facts.range);
  if (auto ranged = dyn_cast<amp::RangeOpInterface>(op))
    ranged.inferRanges(known, found);
  TensorFacts carried = carriedInto(op, operands);
  for (auto [result, range] : llvm::zip(results, found)) {
    TensorFacts facts = carried;
    facts.range = range;
    facts.largest = std::min(facts.largest, range.maxMagnitude());
    if (facts.smallest > 0)
      facts.smallest = std::max(facts.smallest, range.least);
    facts.isMasked &= range.mayBeInfinite;
    set(result, facts);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

Ranges::Ranges(func::FuncOp func, ConstantFacts &constants)
    : solver(DataFlowConfig().setInterprocedural(false)) {
  llvm::StringSet<> written;
  if (auto module = func->getParentOfType<ModuleOp>())
    for (auto other : module.getOps<func::FuncOp>())
      if (!other.isExternal())
        for (auto write : other.front().getOps<train::WriteOp>())
          written.insert(write.getState());
  solver.load<dataflow::DeadCodeAnalysis>();
  solver.load<RangeAnalysis>(constants, std::move(written));
  // The analysis never fails.
  (void)solver.initializeAndRun(func);
}

Ranges::~Ranges() = default;

const TensorFacts &Ranges::of(Value value) const {
  static const TensorFacts nothing;
  const auto *lattice = solver.lookupState<FactsLattice>(value);
  return lattice ? lattice->facts : nothing;
}
