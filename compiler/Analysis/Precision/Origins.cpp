//===- Origins.cpp - Origins of values ------------------------------------===//

#include "compiler/Analysis/Precision/Origins.h"

#include "compiler/Analysis/Precision/GradientPaths.h"
#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Dialect/Amp/IR/Amp.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mpc;

static bool isFloatValue(Value value) {
  return getFloatElementType(value.getType()) != nullptr;
}

Origins::Origins(func::FuncOp func) {
  Block &body = func.front();
  unbounded.insert(body.args_begin(), body.args_end());
  for (Operation &op : body)
    visitForward(&op);
  visitIndices(func);
  visitUpdates(func);
  gradients = findGradientPaths(func, ofParameters);
}

/// Walks back from each index through integers to the floats that they were
/// computed from, and on through floats.
void Origins::visitIndices(func::FuncOp func) {
  SmallVector<Value> work;
  llvm::DenseSet<Value> integers;
  auto visit = [&](Operation *op, bool isIndex) {
    auto precision = dyn_cast<amp::PrecisionOpInterface>(op);
    for (OpOperand &use : op->getOpOperands())
      if (!isIndex || getElementTypeOrSelf(use.get()).isInteger() ||
          (precision && precision.isIndexLike(use.getOperandNumber())))
        work.push_back(use.get());
  };
  for (Operation &op : func.front())
    if (auto precision = dyn_cast<amp::PrecisionOpInterface>(op))
      for (OpOperand &use : op.getOpOperands())
        if (precision.isIndexLike(use.getOperandNumber()) &&
            !isFloatValue(use.get()))
          work.push_back(use.get());
  while (!work.empty()) {
    Value value = work.pop_back_val();
    bool isIndex = !isFloatValue(value);
    if (getElementTypeOrSelf(value).isInteger(1) ||
        !(isIndex ? integers : feedingIndex).insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    auto precision = dyn_cast_or_null<amp::PrecisionOpInterface>(op);
    bool isEnd = precision && !isIndex &&
                 (isLowOp(op) || precision.getPrecisionClass(nullptr) ==
                                     amp::PrecisionClass::Internal);
    if (op && !isEnd)
      visit(op, isIndex);
  }
}

/// Walks back from the writes to the gradients. Stops at products: they belong
/// to a later forward pass, or to an update that contains products.
void Origins::visitUpdates(func::FuncOp func) {
  SmallVector<Value> work;
  for (auto write : func.front().getOps<train::WriteOp>()) {
    train::StateOp state = write.getStateOp();
    if (state && (state.getKind() == train::StateKind::Parameter ||
                  state.getKind() == train::StateKind::Optimizer))
      work.push_back(write.getValue());
  }
  for (Value pack : findGradientPacks(func))
    updates.insert(pack);
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || isLowOp(op) || isa<train::ReadOp>(op) ||
        !updates.insert(value).second)
      continue;
    llvm::append_range(work, op->getOperands());
  }
}

void Origins::visitForward(Operation *op) {
  // Indices and conditions only select: they are not part of the result.
  bool floats = llvm::any_of(op->getOperands(), isFloatValue);
  bool carries = false;
  for (Value operand : op->getOperands())
    if (floats ? isFloatValue(operand)
               : !getElementTypeOrSelf(operand).isInteger(1))
      carries |= unbounded.contains(operand);
  auto precision = dyn_cast<amp::PrecisionOpInterface>(op);
  // An FP8 product stays bounded when it is divided by its scales, which may be
  // computed from an input.
  if (carries && !isLowOp(op) && !isa<amp::DequantizeOp>(op) &&
      !(precision && precision.isBounded()))
    unbounded.insert(op->result_begin(), op->result_end());

  bool isSource = isa<train::ConstantOp>(op) || readsWeights(op);
  if (isSource || (op->getNumOperands() > 0 &&
                   llvm::all_of(op->getOperands(), [&](Value operand) {
                     return ofParameters.contains(operand);
                   })))
    ofParameters.insert(op->result_begin(), op->result_end());
}
