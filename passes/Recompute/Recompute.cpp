//===- Recompute.cpp - Recompute forward ops ------------------------------===//
//
// Implements mpc-recompute: chooses how much to recompute. ChooseSaved then
// chooses the values to keep, and Rematerialize recomputes the others.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/Notes.h"
#include "compiler/Support/Report.h"
#include "passes/Grad/EntryPoints.h"
#include "passes/Grad/Passes.h"
#include "passes/Options/PassOptions.h"
#include "passes/Recompute/Budget.h"
#include "passes/Recompute/ChooseSaved.h"
#include "passes/Recompute/Passes.h"
#include "passes/Recompute/Rematerialize.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

namespace mpc {
#define GEN_PASS_DEF_RECOMPUTEPASS
#include "passes/Recompute/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Applies recomputation to `func` within `extent`.
static Rematerialized apply(func::FuncOp func, const Extent &extent) {
  std::optional<StepGraph> graph = StepGraph::find(func);
  return rematerialize(*graph, chooseSaved(*graph, extent));
}

static int64_t peakOf(func::FuncOp func) {
  return StepGraph::find(func)->peakBytes();
}

/// The bytes kept for the backward pass over the ops of a function; if there
/// are many ops, the maximum of each few.
static llvm::json::Object describeKept(ArrayRef<int64_t> bytes) {
  constexpr size_t kMaxInstants = 1024;
  size_t stride = bytes.size() / kMaxInstants + 1;
  llvm::json::Array kept;
  for (ArrayRef<int64_t> rest = bytes; !rest.empty();
       rest = rest.drop_front(std::min(stride, rest.size())))
    kept.push_back(*llvm::max_element(rest.take_front(stride)));
  return llvm::json::Object{{"ops", static_cast<int64_t>(bytes.size())},
                            {"kept_stride", static_cast<int64_t>(stride)},
                            {"kept_bytes", std::move(kept)}};
}

static std::string percent(double share) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.1f %%", 100 * share);
  return text;
}

namespace {

/// The extents to try for one function, from the least work to the most.
class Extents {
public:
  explicit Extents(func::FuncOp func) {
    std::optional<StepGraph> graph = StepGraph::find(func);
    last = graph->positionOf(graph->backwardBegin());
    cuts = findSingleValueCuts(*graph);
    checkpoints = chooseCheckpoints(*graph, cuts);
  }

  size_t count() const { return cuts.size() + checkpoints.size() + 2; }

  size_t none() const { return 0; }
  size_t selective() const { return cuts.size() + 1; }
  size_t full() const { return count() - 1; }

  Extent get(size_t index) const {
    Extent extent;
    if (index < selective()) {
      extent.cheapUntil = index == 0 ? -1 : cuts[index - 1].position;
      return extent;
    }
    extent.cheapUntil = last;
    if (index > selective())
      extent.allUntil = checkpoints[index - selective() - 1].position;
    for (const SingleValueCut &cut : checkpoints)
      extent.checkpoints.insert(cut.value);
    return extent;
  }

private:
  int64_t last;
  std::vector<SingleValueCut> cuts, checkpoints;
};

struct RecomputePass
    : PassWithOptions<mpc::impl::RecomputePassBase<RecomputePass>,
                      RecomputeOptions> {
  using PassWithOptions::PassWithOptions;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkOptions()))
      return signalPassFailure();
    bool found = false;
    report = llvm::json::Array();
    for (auto func : module.getOps<func::FuncOp>())
      if (!func.isExternal() && StepGraph::find(func)) {
        found = true;
        if (failed(rematerialize(func)))
          return signalPassFailure();
      }
    if (found) {
      std::string text;
      llvm::raw_string_ostream(text) << llvm::json::Value(std::move(report));
      module->setAttr(kRecomputeReportAttr,
                      StringAttr::get(&getContext(), text));
      return;
    }
    bool isTrained = !module->hasAttr(kPredictOnlyAttr);
    emitUsageError(module.getLoc())
        << "option 'recompute' and option 'memory-budget' do not apply: "
        << (isTrained ? "the model brings its own training step"
                      : "the model has no backward pass");
    signalPassFailure();
  }

private:
  LogicalResult checkOptions() {
    Location loc = getOperation().getLoc();
    if (memoryBudget.empty())
      return success();
    if (recompute != "none")
      return emitUsageError(loc)
             << "option 'memory-budget' chooses what to recompute; omit "
                "option 'recompute'";
    if (!parseBudget(memoryBudget))
      return emitUsageError(loc)
             << "option 'memory-budget' must be a number of bytes, such as "
                "512MB, or a "
                "share of what is saved without it, such as 60%, but is '"
             << memoryBudget << "'";
    return success();
  }

  LogicalResult rematerialize(func::FuncOp func) {
    Extents extents(func);
    std::optional<StepGraph> graph = StepGraph::find(func);
    std::vector<int64_t> keptBefore = graph->keptBytes();
    int64_t forward = graph->forwardOps().size();
    int64_t before = *llvm::max_element(keptBefore);
    size_t chosen = findSmallest(func, extents);
    if (!memoryBudget.empty()) {
      int64_t most = parseBudget(memoryBudget)->bytesOf(before);
      int64_t least = INT64_MAX;
      std::optional<size_t> enough =
          findWithinBudget(func, extents, most, least);
      if (!enough)
        return emitUsageError(func.getLoc())
               << "option 'memory-budget': '" << func.getName()
               << "' saves at least " << formatBytes(least)
               << " for the backward pass, "
               << percent(double(least) / double(before)) << " of the "
               << formatBytes(before)
               << " without recomputation, but may save only "
               << formatBytes(most)
               << "; raise the budget or use a smaller batch";
      chosen = *enough;
    }
    int64_t flops = 0;
    func.walk([&](Operation *op) { flops += flopsOf(op); });
    Rematerialized copies = apply(func, extents.get(chosen));
    addNote(getOperation(),
            "recomputation: '" + func.getName().str() + "' saves " +
                formatBytes(peakOf(func)) +
                " for the backward pass instead of " + formatBytes(before) +
                "; recomputes " + std::to_string(copies.ops) +
                (copies.ops == 1 ? " op, " : " ops, ") +
                percent(flops ? double(copies.cost.flops) / double(flops) : 0) +
                " more FLOP");
    llvm::json::Object line{
        {"function", func.getName()},
        {"ops", copies.ops},
        {"forward_ops", forward},
        {"before", describeKept(keptBefore)},
        {"after", describeKept(StepGraph::find(func)->keptBytes())}};
    copies.cost.addTo(line);
    report.push_back(std::move(line));
    return success();
  }

  /// Among the extents that the mode allows, chooses the one that keeps the
  /// least, and among equal ones the one that recomputes the least. A larger
  /// extent can be worse, because recomputed values take memory, too.
  size_t findSmallest(func::FuncOp func, const Extents &extents) {
    size_t best = extents.none();
    if (recompute == "none")
      return best;
    int64_t least = measure(func, best);
    auto consider = [&](size_t extent) {
      int64_t bytes = measure(func, extent);
      if (bytes < least) {
        least = bytes;
        best = extent;
      }
      return bytes;
    };
    int64_t asked = consider(extents.selective());
    if (recompute == "full")
      asked = consider(extents.full());
    if (asked > least)
      addNote(getOperation(),
              "recomputation: '" + func.getName().str() + "' would save " +
                  formatBytes(asked) + " with option 'recompute'=" + recompute +
                  ", more than with " +
                  (best == extents.none() ? "none; using none"
                                          : "selective; using selective"));
    return best;
  }

  /// An extent that keeps at most `most` bytes and recomputes little. If there
  /// is none, `least` is the smallest number of bytes reached.
  static std::optional<size_t> findWithinBudget(func::FuncOp func,
                                                const Extents &extents,
                                                int64_t most, int64_t &least) {
    least = measure(func, extents.none());
    if (least <= most)
      return extents.none();
    size_t tooMuch = extents.none();
    for (size_t enough : {extents.selective(), extents.full()}) {
      int64_t bytes = measure(func, enough);
      least = std::min(least, bytes);
      if (bytes <= most)
        return bisect(func, tooMuch, enough, most);
      tooMuch = enough;
    }
    return std::nullopt;
  }

  static size_t bisect(func::FuncOp func, size_t tooMuch, size_t enough,
                       int64_t most) {
    while (enough - tooMuch > 1) {
      size_t middle = (tooMuch + enough) / 2;
      (measure(func, middle) <= most ? enough : tooMuch) = middle;
    }
    return enough;
  }

  /// The bytes kept with one extent, determined on a copy of the function. The
  /// extent is computed for the copy, because it refers to values.
  static int64_t measure(func::FuncOp func, size_t index) {
    OwningOpRef<func::FuncOp> copy = func.clone();
    apply(*copy, Extents(*copy).get(index));
    return peakOf(*copy);
  }

  llvm::json::Array report; ///< An entry for each function.
};

} // namespace

std::unique_ptr<Pass> mpc::createRecomputePass(const CompileOptions &options) {
  return std::make_unique<RecomputePass>(options);
}
