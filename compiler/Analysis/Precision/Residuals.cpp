//===- Residuals.cpp - Sums of residual streams ---------------------------===//

#include "compiler/Analysis/Precision/Residuals.h"

#include "compiler/Analysis/Precision/PrecisionFacts.h"

using namespace mlir;
using namespace mpc;

/// True if `value` is computed from `source` through at least one product: a
/// sum with a scaled or moved copy is not a residual.
static bool isBehindProduct(Value value, Value source) {
  Operation *begin = source.getDefiningOp();
  // Visits each op at most twice: without and with a product on the path.
  llvm::DenseSet<llvm::PointerIntPair<Operation *, 1, bool>> seen;
  SmallVector<std::pair<Value, bool>> work = {{value, false}};
  while (!work.empty()) {
    auto [next, product] = work.pop_back_val();
    if (next == source) {
      if (product)
        return true;
      continue;
    }
    Operation *op = next.getDefiningOp();
    // An op before the source does not depend on it.
    if (!op || (begin && op->isBeforeInBlock(begin)))
      continue;
    product |= isLowOp(op);
    if (seen.insert({op, product}).second)
      for (Value operand : op->getOperands())
        work.push_back({operand, product});
  }
  return false;
}

llvm::DenseSet<Operation *> mpc::findResidualSums(func::FuncOp func) {
  llvm::DenseSet<Operation *> sums;
  for (auto add : func.front().getOps<train::AddOp>()) {
    Value lhs = add.getLhs(), rhs = add.getRhs();
    if (lhs.getType() == rhs.getType() && lhs != rhs &&
        (isBehindProduct(lhs, rhs) || isBehindProduct(rhs, lhs)))
      sums.insert(add);
  }
  return sums;
}
