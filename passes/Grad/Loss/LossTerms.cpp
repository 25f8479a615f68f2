//===- LossTerms.cpp - The terms of a loss --------------------------------===//

#include "passes/Grad/Loss/LossTerms.h"
#include "passes/Grad/EntryPoints.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

/// The magnitude of a constant number; 1 if `value` is not one.
static double sizeOf(Value value) {
  DenseElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) || !constant.isSplat() ||
      !isa<FloatType>(constant.getElementType()))
    return 1;
  return std::fabs(constant.getSplatValue<APFloat>().convertToDouble());
}

/// The constant factor by which `op`, which is linear in `operand`, multiplies
/// it.
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

/// Whether `factor` is one over a whole multiple of `batchSize`.
static bool dividesByBatch(double factor, int64_t batchSize) {
  if (batchSize <= 1 || factor <= 0 || !std::isfinite(factor))
    return false;
  double multiple = 1 / (factor * double(batchSize));
  double whole = std::round(multiple);
  return whole >= 1 && std::fabs(multiple - whole) <= 1e-5 * whole;
}

/// Whether `value` repeats one scalar or concatenates several: models stack
/// terms to add them up. Appends the scalars to `parts`.
static bool isStack(Value value, SmallVectorImpl<Value> &parts) {
  auto move = value.getDefiningOp<train::MoveOpInterface>();
  if (!move || (move.getMove() != train::Move::Joined &&
                move.getMove() != train::Move::Repeated))
    return false;
  llvm::append_range(parts, move->getOperands());
  return llvm::all_of(
      parts, [](Value part) { return typeOf(part).getNumElements() == 1; });
}

/// Splits `term` if it sums or averages stacked values.
static bool splitStack(const LossTerm &term, SmallVectorImpl<LossTerm> &parts) {
  auto op = term.value.getDefiningOp<train::LossReductionOpInterface>();
  if (!op || !isa<train::ReductionOpInterface>(op.getOperation()))
    return false;
  SmallVector<Value> stacked;
  if (!isStack(skipIdentities(op->getOperand(0)), stacked))
    return false;
  for (Value part : stacked) {
    parts.push_back(term);
    parts.back().value = skipIdentities(part);
  }
  return true;
}

/// Splits `term` if its op adds several terms, or multiplies a term by a value
/// that does not depend on data.
static bool splitTerm(const LossTerm &term, const Sources &sources,
                      int64_t batchSize, SmallVectorImpl<LossTerm> &parts,
                      SmallVectorImpl<Value> &weightTerms) {
  Operation *op = term.value.getDefiningOp();
  auto affine = dyn_cast_or_null<train::AffineOpInterface>(op);
  if (!affine)
    return false;
  SmallVector<unsigned> dataTerms;
  SmallVector<Value> others;
  for (OpOperand &operand : op->getOpOperands()) {
    if (sources.hasData(operand.get()))
      dataTerms.push_back(operand.getOperandNumber());
    else
      others.push_back(operand.get());
  }
  if (!llvm::all_of(dataTerms,
                    [&](unsigned i) { return affine.isAffineIn(i); }))
    return false;
  bool isProduct =
      llvm::any_of(dataTerms, [&](unsigned i) { return affine.isLinearIn(i); });
  if (isProduct && dataTerms.size() > 1)
    return false;
  for (unsigned i : dataTerms) {
    double factor = isProduct ? factorOf(affine, i) : 1;
    parts.push_back(
        {skipIdentities(op->getOperand(i)), term.factor * factor,
         term.isDivided || (factor != 1 && dividesByBatch(factor, batchSize))});
  }
  if (!isProduct)
    llvm::copy_if(others, std::back_inserter(weightTerms),
                  [&](Value value) { return sources.hasParameters(value); });
  return true;
}

LossTerms mpc::findLossTerms(Value loss, const Sources &sources,
                             int64_t batchSize) {
  LossTerms terms;
  SmallVector<LossTerm> work = {{skipIdentities(loss)}};
  if (!sources.hasData(loss))
    return terms;
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    LossTerm next = work.pop_back_val();
    if (!seen.insert(next.value).second)
      continue;
    SmallVector<LossTerm> parts;
    if (splitStack(next, parts) ||
        splitTerm(next, sources, batchSize, parts, terms.weightTerms))
      llvm::append_range(work, llvm::reverse(parts));
    else
      terms.dataTerms.push_back(next);
  }
  return terms;
}

//===----------------------------------------------------------------------===//
// Growth
//===----------------------------------------------------------------------===//

/// Whether `op` reduces dimension 0 and that holds the samples, alone or
/// collapsed with other dimensions.
static bool reducesSamples(Operation *op, int64_t batchSize) {
  auto reduction = dyn_cast<train::ReductionOpInterface>(op);
  if (!reduction || batchSize <= 1 || reduction.getAxes().empty() ||
      reduction.getAxes().front() != 0)
    return false;
  auto holdsSamples = [&](Value value) {
    RankedTensorType type = typeOf(value);
    return type.getRank() > 0 && type.getDimSize(0) == batchSize;
  };
  Value input = op->getOperand(0);
  return holdsSamples(input) || (typeOf(input).getDimSize(0) % batchSize == 0 &&
                                 holdsSamples(skipIdentities(input)));
}

/// The op behind `term` that sums or averages the samples: the innermost
/// reduction that reduces them, else the outermost reduction. Factors on the
/// way are added to `term`.
static train::LossReductionOpInterface
findBatchOp(LossTerm &term, int64_t batchSize, const Sources &sources) {
  train::LossReductionOpInterface found;
  LossTerm next = term;
  while (auto op =
             next.value.getDefiningOp<train::LossReductionOpInterface>()) {
    if (!found || reducesSamples(op, batchSize)) {
      found = op;
      term = next;
    }
    if (!isa<train::ReductionOpInterface>(op.getOperation()))
      break;
    next.value = skipIdentities(op->getOperand(0));
    SmallVector<LossTerm> parts;
    SmallVector<Value> weightTerms;
    while (splitTerm(next, sources, batchSize, parts, weightTerms) &&
           parts.size() == 1 && weightTerms.empty())
      next = parts.pop_back_val();
  }
  return found;
}

BatchReduction mpc::batchReductionOf(LossTerm &term, int64_t batchSize,
                                     const Sources &sources) {
  train::LossReductionOpInterface op = findBatchOp(term, batchSize, sources);
  if (!op)
    return BatchReduction::Other;
  if (op.isWeighted())
    return BatchReduction::Weighted;
  return !op.isSumReduction() || term.isDivided ? BatchReduction::Mean
                                                : BatchReduction::Sum;
}

Operation *mpc::findCrossSampleReduction(const LossTerm &term,
                                         int64_t batchSize,
                                         const Sources &sources) {
  Operation *found = nullptr, *batchOp = term.value.getDefiningOp();
  walkOperands(term.value, [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (found || !op || !sources.hasData(value))
      return false;
    if (op != batchOp && reducesSamples(op, batchSize))
      found = op;
    return true;
  });
  return found;
}
