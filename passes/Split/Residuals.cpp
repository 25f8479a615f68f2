//===- Residuals.cpp - What a backward pass needs from before -------------===//

#include "passes/Split/Residuals.h"

#include "compiler/Dialect/Amp/IR/Amp.h"
#include "compiler/Dialect/Train/IR/Views.h"
#include "passes/Grad/EntryPoints.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mpc;

static int64_t bitsOf(ValueRange values) {
  int64_t bits = 0;
  for (Value value : values)
    bits +=
        typeOf(value).getNumElements() * typeOf(value).getElementTypeBitWidth();
  return bits;
}

/// Whether `op` only moves or rounds what it reads.
static bool isMove(Operation *op) {
  return isa<train::MoveOpInterface, amp::CastOp>(op);
}

namespace {

class HalvesFinder {
public:
  explicit HalvesFinder(func::FuncOp step) : step(step) {}

  Halves run() {
    findDependent();
    findForward();
    findResiduals();
    // Parts of what is kept anyway, also rounded ones, are made again.
    halves.residuals.remove_if([&](Value value) {
      Operation *op = value.getDefiningOp();
      return op && isMove(op) &&
             llvm::all_of(op->getOperands(), [&](Value operand) {
               return halves.residuals.contains(operand);
             });
    });
    return std::move(halves);
  }

private:
  bool isOfGradients(Value value) const {
    return halves.ofGradients.contains(value);
  }

  void findDependent() {
    for (BlockArgument argument : step.getArguments())
      if (step.getArgAttr(argument.getArgNumber(), kGradientOfAttr))
        halves.ofGradients.insert(argument);
    for (Operation &op : step.front())
      if (llvm::any_of(op.getOperands(),
                       [&](Value value) { return isOfGradients(value); }))
        halves.ofGradients.insert(op.result_begin(), op.result_end());
  }

  bool isGradientResult(unsigned index) {
    return bool(step.getResultAttr(index, kGradientOfAttr));
  }

  /// Everything that outputs and states of the forward pass are computed from.
  void findForward() {
    auto visit = [&](Value value) {
      Operation *op = value.getDefiningOp();
      return op && forward.insert(op).second;
    };
    for (auto [i, value] : llvm::enumerate(getReturn(step).getOperands()))
      if (!isGradientResult(i))
        walkOperands(value, visit);
    for (auto write : step.front().getOps<train::WriteOp>()) {
      if (isOfGradients(write.getValue()))
        continue;
      written.insert(write.getState());
      walkOperands(write.getValue(), visit);
    }
  }

  void findResiduals() {
    llvm::DenseSet<Value> seen;
    auto visit = [&](Value value) {
      return seen.insert(value).second && !keep(value);
    };
    for (auto [i, value] : llvm::enumerate(getReturn(step).getOperands()))
      if (isGradientResult(i))
        walkOperands(value, visit);
    for (auto write : step.front().getOps<train::WriteOp>())
      if (isOfGradients(write.getValue()))
        walkOperands(write.getValue(), visit);
  }

  /// Keeps a value that the backward pass cannot, or should not, compute.
  bool keep(Value value) {
    if (isOfGradients(value))
      return false;
    Operation *op = value.getDefiningOp();
    if (op && op->hasTrait<OpTrait::ConstantLike>())
      return false;
    bool isKept = !op || forward.contains(op);
    if (auto read = dyn_cast_or_null<train::ReadOp>(op))
      isKept = written.contains(read.getState());
    else if (op && (train::isView(op) ||
                    (isMove(op) &&
                     bitsOf(op->getOperands()) <= bitsOf(op->getResults()))))
      isKept = false; // What it moves takes no more memory.
    if (isKept)
      halves.residuals.insert(value);
    return isKept;
  }

  func::FuncOp step;
  Halves halves;
  llvm::DenseSet<Operation *> forward; ///< Computes outputs and states.
  llvm::StringSet<> written; ///< States that the forward pass changes.
};

} // namespace

Halves mpc::findHalves(func::FuncOp step) { return HalvesFinder(step).run(); }
