//===- RecomputeInUsers.cpp - Recompute cheap results of kernels ----------===//
//
// Part of mpc-fuse-kernels.
//
//===----------------------------------------------------------------------===//

#include "passes/Fusion/Kernels/KernelGroup.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

#include <map>

using namespace mlir;
using namespace mpc;

size_t mpc::countOperands(ArrayRef<linalg::GenericOp> ops) {
  llvm::SmallSetVector<Value, 16> operands;
  for (linalg::GenericOp op : ops) {
    for (Value input : op.getDpsInputs())
      operands.insert(memoryRoot(input));
    for (Value read : computedReads(op))
      operands.insert(memoryRoot(read));
    operands.insert(op.getResults().begin(), op.getResults().end());
  }
  return operands.size();
}

namespace {

class Recomputation {
public:
  Recomputation(MutableArrayRef<KernelGroup> groups, const Backend &backend)
      : groups(groups), backend(backend) {
    for (auto [i, group] : llvm::enumerate(groups))
      for (linalg::GenericOp op : group.ops)
        groupOf[op] = i;
  }

  void run() {
    for (unsigned i = 0; i < groups.size(); ++i) {
      SmallVector<linalg::GenericOp> ops = groups[i].ops;
      for (linalg::GenericOp op : ops)
        if (isWidening(op) || (isCheap(op) && readsFromMemory(op)))
          moveToUsers(op, i);
    }
  }

private:
  /// The maximum number of operations of a cheap body.
  static constexpr unsigned kMostOperations = 6;
  /// Other operands than the largest are at least this many times smaller.
  static constexpr int64_t kSmaller = 16;

  static int64_t bytesOf(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getNumElements() *
           llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  }

  /// The operand that determines the memory traffic of `op`.
  static Value largestInput(linalg::GenericOp op) {
    SmallVector<Value> inputs(op.getDpsInputs());
    return *llvm::max_element(
        inputs, [](Value a, Value b) { return bytesOf(a) < bytesOf(b); });
  }

  /// Whether `op` does a few operations on each element of one large tensor,
  /// which is no larger than its result.
  static bool isCheap(linalg::GenericOp op) {
    if (op.getNumResults() != 1 || op.getNumDpsInputs() == 0 ||
        op.getNumReductionLoops() > 0 || !computedReads(op).empty() ||
        !op.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>())
      return false;
    unsigned operations = 0;
    for (Operation &inner : op.getBody()->without_terminator()) {
      if (!isa<arith::ArithDialect>(inner.getDialect()) ||
          isa<arith::DivFOp, arith::RemFOp>(inner))
        return false;
      operations += !isa<arith::ConstantOp>(inner);
    }
    Value input = largestInput(op);
    const int64_t bytes = bytesOf(op.getResult(0));
    return operations > 0 && operations <= kMostOperations &&
           bytesOf(input) <= bytes &&
           llvm::all_of(op.getDpsInputs(), [&](Value other) {
             return other == input || bytesOf(other) * kSmaller <= bytes;
           });
  }

  /// Whether `op` only widens floats. Then its input is worth storing instead,
  /// which takes at most half of the memory.
  static bool isWidening(linalg::GenericOp op) {
    if (op.getNumResults() != 1 || op.getNumDpsInputs() != 1 ||
        op.getNumReductionLoops() > 0 ||
        bytesOf(op.getInputs()[0]) * 2 > bytesOf(op.getResult(0)))
      return false;
    auto widened = op.getBody()
                       ->getTerminator()
                       ->getOperand(0)
                       .getDefiningOp<arith::ExtFOp>();
    return widened && widened.getIn() == op.getBody()->getArgument(0);
  }

  /// Whether the inputs of `op` are in memory anyway: they are constants,
  /// arguments, states, or results of library kernels.
  static bool readsFromMemory(linalg::GenericOp op) {
    return llvm::all_of(op.getDpsInputs(), [&](Value input) {
      Operation *maker = memoryRoot(input).getDefiningOp();
      return !maker || !isa<linalg::GenericOp>(maker);
    });
  }

  /// The users of `value` outside of `group`, through views. Fails if one is
  /// not in a kernel.
  LogicalResult findUsers(Value value, unsigned group,
                          SmallVectorImpl<OpOperand *> &uses) {
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      auto generic = dyn_cast<linalg::GenericOp>(user);
      if (!generic || !groupOf.count(generic) || !generic.isDpsInput(&use))
        return failure();
      if (groupOf[generic] != group)
        uses.push_back(&use);
    }
    return success();
  }

  /// Gives each other kernel that uses the result of `op` its own copy of `op`,
  /// if all of them can have one.
  void moveToUsers(linalg::GenericOp op, unsigned group) {
    SmallVector<OpOperand *> uses;
    if (failed(findUsers(op.getResult(0), group, uses)) || uses.empty())
      return;
    std::map<unsigned, SmallVector<OpOperand *>> usesOf;
    for (OpOperand *use : uses)
      usesOf[groupOf[cast<linalg::GenericOp>(use->getOwner())]].push_back(use);
    std::vector<std::pair<unsigned, KernelGroup>> changed;
    SmallVector<Operation *> copies;
    for (auto &[user, theirs] : usesOf) {
      KernelGroup &old = groups[user];
      OpBuilder builder(old.ops.front());
      auto copy = cast<linalg::GenericOp>(builder.clone(*op));
      copies.push_back(copy);
      for (OpOperand *use : theirs)
        use->set(copy.getResult(0));
      KernelGroup next;
      next.ops.push_back(copy);
      next.ops.append(old.ops);
      std::optional<KernelDomain> domain = analyzeKernel(next.ops);
      std::optional<LaunchShape> shape;
      if (domain)
        shape = backend.launchShape(*domain);
      if (!shape || shape->lanes < old.shape.lanes ||
          shape->items < old.shape.items ||
          countOperands(next.ops) > backend.fusionLimits().operands)
        break;
      next.domain = std::move(*domain);
      next.shape = *shape;
      changed.emplace_back(user, std::move(next));
    }
    if (changed.size() < usesOf.size()) {
      for (OpOperand *use : uses)
        use->set(op.getResult(0));
      for (Operation *copy : copies)
        copy->erase();
      return;
    }
    for (auto &[user, next] : changed) {
      groupOf[next.ops.front()] = user;
      groups[user] = std::move(next);
    }
  }

  MutableArrayRef<KernelGroup> groups;
  const Backend &backend;
  DenseMap<linalg::GenericOp, unsigned> groupOf;
};

} // namespace

void mpc::recomputeInUsers(MutableArrayRef<KernelGroup> groups,
                           const Backend &backend) {
  Recomputation(groups, backend).run();
}
