//===- Rematerialize.cpp - Recomputation of forward ops -------------------===//

#include "passes/Recompute/Rematerialize.h"

#include "compiler/Dialect/Train/IR/Views.h"
#include "compiler/Dialect/Train/Ops/Recompute/Recompute.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpc;

namespace {

class Copier {
public:
  Copier(const StepGraph &graph, const llvm::DenseSet<Value> &kept)
      : graph(graph), kept(kept) {}

  Rematerialized run() {
    for (Operation *op : graph.backwardOps()) {
      if (op == graph.backwardBegin()) {
        after = op->getResult(0);
        continue;
      }
      copyFor(op);
      for (OpOperand &operand : op->getOpOperands())
        if (Value copy = copies.lookupOrNull(operand.get()))
          operand.set(copy);
      // The result of a catalog kernel always has memory of its own.
      if (isa<train::KernelOpInterface>(op))
        after = op->getResult(0);
    }
    return totals;
  }

private:
  bool isThere(Value value) const {
    return graph.isFree(value) || kept.contains(train::skipViews(value)) ||
           !graph.isForward(value.getDefiningOp());
  }

  /// Copies the ops whose results `user` reads and that have not been
  /// recomputed yet.
  void copyFor(Operation *user) {
    llvm::SetVector<Operation *> missing;
    auto need = [&](Operation *op) {
      for (Value operand : op->getOperands())
        if (!isThere(operand) && !copies.contains(operand))
          missing.insert(operand.getDefiningOp());
    };
    need(user);
    for (size_t i = 0; i < missing.size(); ++i)
      need(missing[i]);
    SmallVector<Operation *> ops = missing.takeVector();
    llvm::sort(ops, [&](Operation *a, Operation *b) {
      return graph.positionOf(a) < graph.positionOf(b);
    });
    OpBuilder builder(user);
    for (Operation *op : ops)
      copy(op, builder);
  }

  void copy(Operation *op, OpBuilder &builder) {
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (copies.contains(operand) ||
          (def && def->hasTrait<OpTrait::ConstantLike>()))
        continue;
      copies.map(operand, train::RematBarrierOp::create(builder, op->getLoc(),
                                                        operand, after)
                              .getResult());
    }
    Operation *again = builder.clone(*op, copies);
    again->setAttr(kRecomputedAttr, builder.getUnitAttr());
    ++totals.ops;
    totals.cost += costOf(op);
  }

  const StepGraph &graph;
  const llvm::DenseSet<Value> &kept;
  IRMapping copies; ///< Values behind barriers, and recomputed ones.
  Value after;      ///< The last value of the backward pass that has memory.
  Rematerialized totals;
};

} // namespace

Rematerialized mpc::rematerialize(const StepGraph &graph,
                                  const llvm::DenseSet<Value> &kept) {
  return Copier(graph, kept).run();
}
