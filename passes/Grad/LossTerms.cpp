//===- LossTerms.cpp - What a loss adds up --------------------------------===//

#include "passes/Grad/LossTerms.h"
#include "passes/Grad/EntryPoints.h"

#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

Sources mpc::sourcesOf(Value value) {
  Sources sources;
  walkOperands(value, [&](Value next) {
    if (!next.getDefiningOp())
      sources.data = true;
    if (auto read = next.getDefiningOp<train::ReadOp>()) {
      auto state = SymbolTable::lookupNearestSymbolFrom<train::StateOp>(
          read, read.getStateAttr());
      sources.parameters |=
          !state || state.getKind() == train::StateKind::Parameter;
    }
    return true;
  });
  return sources;
}

bool mpc::isFixed(Value value) {
  Sources sources = sourcesOf(value);
  return !sources.data && !sources.parameters;
}

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

/// The size of a number; 1 where `value` is none.
static double sizeOf(Value value) {
  DenseElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) || !constant.isSplat() ||
      !isa<FloatType>(constant.getElementType()))
    return 1;
  return std::fabs(constant.getSplatValue<APFloat>().convertToDouble());
}

/// What `op`, which is linear in `operand`, multiplies it by, as far as numbers
/// do.
static double factorOf(train::AffineOpInterface op, unsigned operand) {
  double factor = 1;
  for (OpOperand &other : op->getOpOperands()) {
    unsigned number = other.getOperandNumber();
    if (number != operand)
      factor *=
          op.isLinearIn(number) ? sizeOf(other.get()) : 1 / sizeOf(other.get());
  }
  return factor;
}

/// Splits `op` into the operands that data decides on and the others.
static void splitOperands(Operation *op, SmallVectorImpl<unsigned> &ofData,
                          SmallVectorImpl<Value> &others) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (sourcesOf(operand.get()).data)
      ofData.push_back(operand.getOperandNumber());
    else
      others.push_back(operand.get());
  }
}

/// Takes `term` apart, if its op adds or multiplies what data decides on and
/// what it does not, or adds several terms.
static bool takeApart(const LossTerm &term, SmallVectorImpl<LossTerm> &parts,
                      SmallVectorImpl<Value> &ofWeights) {
  Operation *op = term.value.getDefiningOp();
  auto affine = dyn_cast_or_null<train::AffineOpInterface>(op);
  if (!affine)
    return false;
  SmallVector<unsigned> ofData;
  SmallVector<Value> others;
  splitOperands(op, ofData, others);
  if (!llvm::all_of(ofData, [&](unsigned i) { return affine.isAffineIn(i); }))
    return false;
  bool isProduct =
      llvm::any_of(ofData, [&](unsigned i) { return affine.isLinearIn(i); });
  if (isProduct && ofData.size() > 1)
    return false;
  for (unsigned i : ofData)
    parts.push_back(
        {skipIdentities(op->getOperand(i)),
         isProduct ? term.factor * factorOf(affine, i) : term.factor});
  if (!isProduct)
    llvm::copy_if(others, std::back_inserter(ofWeights),
                  [](Value value) { return sourcesOf(value).parameters; });
  return true;
}

LossTerms mpc::findLossTerms(Value loss) {
  LossTerms terms;
  SmallVector<LossTerm> work = {{skipIdentities(loss)}};
  if (!sourcesOf(loss).data)
    return terms;
  while (!work.empty()) {
    LossTerm next = work.pop_back_val();
    SmallVector<LossTerm> parts;
    if (takeApart(next, parts, terms.ofWeights))
      llvm::append_range(work, llvm::reverse(parts));
    else
      terms.ofData.push_back(next);
  }
  return terms;
}

//===----------------------------------------------------------------------===//
// Growth
//===----------------------------------------------------------------------===//

/// Whether `op` reduces a dimension of `extent`.
static bool reducesExtent(train::ReductionOpInterface op,
                          llvm::function_ref<bool(int64_t)> isWanted) {
  ArrayRef<int64_t> shape = typeOf(op->getOperand(0)).getShape();
  return llvm::any_of(op.getAxes(),
                      [&](int64_t axis) { return isWanted(shape[axis]); });
}

/// The op behind `term` that adds up or averages the samples: of several
/// reductions the innermost whose dimensions hold them, else the outermost.
/// What is multiplied on the way joins `term.factor`.
static train::BatchLossOpInterface findBatchOp(LossTerm &term,
                                               int64_t batchSize) {
  train::BatchLossOpInterface outermost, ofSamples, ofMultiples;
  LossTerm next = term;
  double factor = term.factor;
  while (auto op = next.value.getDefiningOp<train::BatchLossOpInterface>()) {
    if (!outermost)
      outermost = op;
    auto reduction = dyn_cast<train::ReductionOpInterface>(op.getOperation());
    if (!reduction)
      break;
    if (reducesExtent(reduction, [&](int64_t n) { return n == batchSize; })) {
      ofSamples = op;
      factor = next.factor;
    } else if (reducesExtent(reduction, [&](int64_t n) {
                 return batchSize > 0 && n > 0 && n % batchSize == 0;
               })) {
      ofMultiples = op;
      if (!ofSamples)
        factor = next.factor;
    }
    next.value = skipIdentities(op->getOperand(0));
    SmallVector<LossTerm> parts;
    SmallVector<Value> ofWeights;
    while (takeApart(next, parts, ofWeights) && parts.size() == 1 &&
           ofWeights.empty())
      next = parts.pop_back_val();
  }
  term.factor = factor;
  return ofSamples ? ofSamples : ofMultiples ? ofMultiples : outermost;
}

/// Whether `factor` is one over a whole multiple of `batchSize`.
static bool dividesByBatch(double factor, int64_t batchSize) {
  if (batchSize <= 0 || factor <= 0 || !std::isfinite(factor))
    return false;
  double multiple = 1 / (factor * double(batchSize));
  double whole = std::round(multiple);
  return whole >= 1 && std::fabs(multiple - whole) <= 1e-5 * whole;
}

LossGrowth mpc::growthOf(const LossTerm &term, int64_t batchSize) {
  LossTerm inner = term;
  train::BatchLossOpInterface op = findBatchOp(inner, batchSize);
  if (!op)
    return LossGrowth::Other;
  if (op.isWeighted())
    return LossGrowth::Weighted;
  if (!op.addsUp() || dividesByBatch(inner.factor, batchSize))
    return LossGrowth::Mean;
  return LossGrowth::Sum;
}
