//===- Accumulation.cpp - Combine micro-batches into a batch --------------===//

#include "passes/Grad/Loss/Accumulation.h"

#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Support/Locations.h"
#include "compiler/Support/Notes.h"
#include "passes/Grad/EntryPoints.h"
#include "passes/Grad/Loss/LossRatio.h"
#include "passes/Grad/Loss/LossTerms.h"
#include "passes/Grad/Loss/Sources.h"

using namespace mlir;
using namespace mpc;

/// How many samples the inputs of `func` hold; 0 if none has a batch.
static int64_t batchSizeOf(func::FuncOp func) {
  for (BlockArgument argument : func.getArguments())
    if (auto dim = func.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                      kBatchDimAttr))
      return typeOf(argument).getDimSize(dim.getInt());
  return 0;
}

namespace {

/// Analyzes the loss of one function.
class Analysis {
public:
  Analysis(OpBuilder &builder, func::FuncOp func, train::ConstantOp seed,
           int64_t count)
      : builder(builder), module(func->getParentOfType<ModuleOp>()),
        sources(func.front()), batchSize(batchSizeOf(func)), seed(seed),
        count(count) {}

  Accumulation of(Value loss) {
    LossTerms terms = findLossTerms(loss, sources, batchSize);
    if (terms.dataTerms.size() == 1) {
      LossTerm term = terms.dataTerms.front();
      if (std::optional<LossRatio> ratio = findLossRatio(term.value, sources))
        return ofRatio(*ratio);
      if (batchReductionOf(term, batchSize, sources) ==
          BatchReduction::Weighted)
        return weighByOp(term);
    }
    return ofSumsAndMeans(terms);
  }

private:
  /// Sums if all terms are sums; otherwise the mean.
  Accumulation ofSumsAndMeans(LossTerms &terms) {
    SmallVector<Value> sums, others;
    Operation *joined = nullptr;
    for (LossTerm &term : terms.dataTerms) {
      BatchReduction reduction =
          findLossRatio(term.value, sources)
              ? BatchReduction::Other
              : batchReductionOf(term, batchSize, sources);
      Operation *inner =
          reduction == BatchReduction::Other
              ? nullptr
              : findCrossSampleReduction(term, batchSize, sources);
      joined = joined ? joined : inner;
      // An op that is linear in a mean over samples is such a mean as well.
      auto mean = dyn_cast_or_null<train::LossReductionOpInterface>(inner);
      if (reduction == BatchReduction::Sum && mean && !mean.isSumReduction())
        reduction = BatchReduction::Mean;
      if (reduction == BatchReduction::Sum)
        sums.push_back(term.value);
      else if (reduction != BatchReduction::Mean)
        others.push_back(term.value);
    }
    const bool areAllSums =
        !sums.empty() && sums.size() == terms.dataTerms.size();
    if (!others.empty())
      noteAveraged(others.front(),
                   terms.dataTerms.size() == 1
                       ? "is neither a sum nor a mean over the batch"
                       : "has a term that is neither a sum nor a mean of a "
                         "fixed number of terms");
    else if (!sums.empty() && !areAllSums)
      noteAveraged(sums.front(), "has a sum over the batch beside a mean");
    else if (joined)
      noteJoined(joined, areAllSums);
    if (!areAllSums) {
      noteDivided(terms);
      return {double(count)};
    }
    noteFactor(terms);
    if (!terms.weightTerms.empty())
      noteRepeated(terms.weightTerms.front());
    return {1.0, /*isMean=*/false};
  }

  /// A mean over counted labels or with class weights is weighted by the op's
  /// divisor.
  Accumulation weighByOp(const LossTerm &term) {
    auto op = term.value.getDefiningOp<train::LossReductionOpInterface>();
    Accumulation result{double(count)};
    result.divisor = op.buildDivisor(builder);
    result.terms *= double(op.countTerms());
    return result;
  }

  /// A weighted mean that the model writes out is weighted by the sum of its
  /// weights. For other ratios it is unknown how they combine.
  Accumulation ofRatio(LossRatio ratio) {
    Accumulation result{double(count)};
    Location loc = ratio.op.getLoc();
    if (ratio.isWeightedMean) {
      result.divisor = train::reshapeTo(builder, loc, ratio.op.getRhs(), {});
      result.terms *= double(ratio.terms);
      result.hasGradientOfSum =
          startBackwardAtNumerator(ratio, seed, result.divisor, sources);
      return result;
    }
    addNote(
        module,
        "the loss is a ratio of numbers that depend on the data, at '" +
            nodeName(loc).str() + "': " + option() +
            " weights micro-batches equally, whatever "
            "their divisors; losses with ignore_index and sum(loss * mask) / "
            "sum(mask) are weighted by their divisors, like one batch");
    return result;
  }

  void noteAveraged(Value term, StringRef what) {
    addNote(module, "the loss " + what.str() + ", at '" +
                        nodeName(term.getLoc()).str() + "': " + option() +
                        " averages over micro-batches, "
                        "which may differ from the loss of one large batch");
  }

  void noteJoined(Operation *op, bool isSumReduction) {
    addNote(module, "'" + nodeName(op->getLoc()).str() +
                        "' combines the samples of a batch, so the losses of "
                        "micro-batches, which " +
                        option() + " " +
                        (isSumReduction ? "adds up" : "averages") +
                        ", may differ from the loss of one large batch");
  }

  /// A mean and a scaled sum cannot be distinguished by their factors alone, so
  /// a note tells which was assumed.
  void noteDivided(const LossTerms &terms) {
    auto isSum = [](const LossTerm &term) {
      auto op = term.value.getDefiningOp<train::LossReductionOpInterface>();
      return op && op.isSumReduction();
    };
    for (const LossTerm &term : terms.dataTerms)
      if (term.isDivided && isSum(term))
        return addNote(module,
                       "the loss is a sum over the batch, at '" +
                           nodeName(term.value.getLoc()).str() +
                           "', divided by a multiple of the batch size, " +
                           std::to_string(batchSize) + ": " + option() +
                           " treats it as a mean");
  }

  void noteFactor(const LossTerms &terms) {
    for (const LossTerm &term : terms.dataTerms)
      if (term.factor != 1)
        return addNote(module, "the loss is a sum over the batch, at '" +
                                   nodeName(term.value.getLoc()).str() +
                                   "', times a number: " + option() +
                                   " adds micro-batches up");
  }

  void noteRepeated(Value term) {
    const std::string times = std::to_string(count);
    addNote(
        module,
        "the loss is a sum over the batch and a term of weights alone, at '" +
            nodeName(term.getLoc()).str() + "': " +
            (count > 1 ? "option 'accumulate'=" + times +
                             " adds micro-batches up, so this term counts " +
                             times + " times; divide it by that"
                       : "option 'data-parallel' adds the batches of all ranks "
                         "up, so this term counts once for each; divide it by "
                         "their number") +
            ", or take the mean over the batch");
  }

  /// The option that makes several batches of one: each rank has one.
  std::string option() const {
    return count > 1 ? "option 'accumulate'" : "option 'data-parallel'";
  }

  OpBuilder &builder;
  ModuleOp module;
  Sources sources;
  int64_t batchSize;
  train::ConstantOp seed;
  int64_t count;
};

} // namespace

Accumulation mpc::analyzeAccumulation(OpBuilder &builder, func::FuncOp func,
                                      Value loss, train::ConstantOp seed,
                                      int64_t count) {
  return Analysis(builder, func, seed, count).of(loss);
}
