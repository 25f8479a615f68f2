//===- GradientPaths.cpp - Paths from gradients to packs ------------------===//

#include "compiler/Analysis/Precision/GradientPaths.h"

#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Dialect/Amp/IR/Amp.h"

using namespace mlir;
using namespace mpc;

static bool isFloat(Value value) {
  return getFloatElementType(value.getType()) != nullptr;
}

/// True if some float result of `op` is used, and `test` holds for each that
/// is.
static bool allResults(Operation *op, llvm::function_ref<bool(Value)> test) {
  bool found = false;
  for (Value result : op->getResults()) {
    if (!isFloat(result) || result.use_empty())
      continue;
    if (!test(result))
      return false;
    found = true;
  }
  return found;
}

namespace {

class Search {
public:
  Search(func::FuncOp func, const llvm::DenseSet<Value> &ofParameters);

  llvm::DenseSet<Value> paths;

private:
  bool onlyMeetsParameters(OpOperand &use) const;
  bool dependsOnWeights(Value value) const;
  bool onlyLeadsToPack(Value value) const;
  bool isMovedToPack(OpOperand &use) const;

  const llvm::DenseSet<Value> &ofParameters;
  llvm::DenseSet<Value> alone, behindWeights;
  /// Values with at least one use that is moved to a pack.
  llvm::DenseSet<Value> moved;
};

} // namespace

Search::Search(func::FuncOp func, const llvm::DenseSet<Value> &ofParameters)
    : ofParameters(ofParameters) {
  for (Operation &op : llvm::reverse(func.front())) {
    // Weights are not gradients, though their averages are packed, too.
    if (isa<train::ReadOp, train::UnpackOp>(op))
      continue;
    for (Value result : op.getResults()) {
      if (!isFloat(result) || result.use_empty())
        continue;
      if (dependsOnWeights(result))
        behindWeights.insert(result);
      if (onlyLeadsToPack(result))
        alone.insert(result);
      if (llvm::any_of(result.getUses(),
                       [&](OpOperand &use) { return isMovedToPack(use); }))
        moved.insert(result);
      if (alone.contains(result) || moved.contains(result))
        paths.insert(result);
    }
  }
}

/// True if the other floats that the op of `use` reads are weights or computed
/// from them.
bool Search::onlyMeetsParameters(OpOperand &use) const {
  return llvm::all_of(use.getOwner()->getOpOperands(), [&](OpOperand &other) {
    return &other == &use || !isFloat(other.get()) ||
           ofParameters.contains(other.get());
  });
}

bool Search::dependsOnWeights(Value value) const {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    return isa<train::PackOp>(user) ||
           (onlyMeetsParameters(use) && allResults(user, [&](Value result) {
              return behindWeights.contains(result);
            }));
  });
}

bool Search::onlyLeadsToPack(Value value) const {
  return behindWeights.contains(value) ||
         llvm::all_of(value.getUsers(), [&](Operation *user) {
           return isa<train::PackOp>(user) ||
                  (!isLowOp(user) && allResults(user, [&](Value result) {
                    return alone.contains(result);
                  }));
         });
}

/// True if the user is a pack, or an op that moves elements to one. Looks
/// through casts, which are not ops of the model.
bool Search::isMovedToPack(OpOperand &use) const {
  Operation *user = use.getOwner();
  if (isa<train::PackOp>(user))
    return true;
  if (auto cast = dyn_cast<amp::CastOp>(user))
    return moved.contains(cast.getResult());
  bool moves = isa<train::JoinOpInterface>(user) || isTransparent(user);
  return moves && llvm::any_of(user->getResults(), [&](Value result) {
           return paths.contains(result);
         });
}

llvm::DenseSet<Value>
mpc::findGradientPaths(func::FuncOp func,
                       const llvm::DenseSet<Value> &ofParameters) {
  return std::move(Search(func, ofParameters).paths);
}
