//===- Backward.cpp - Gradients by the forward op -------------------------===//

#include "compiler/Import/Ops/Training/Backward.h"

#include "compiler/Dialect/Train/Transforms/Differentiate.h"
#include "compiler/Import/Graph/Elements.h"

using namespace mlir;
using namespace mpc;

Value mpc::leaf(ImportedNode &node, Value value) {
  return value ? node.emitAs<train::ReshapeOp>(value.getType(), value)
               : nullptr;
}

Value mpc::leafOf(ImportedNode &node, ArrayRef<int64_t> shape) {
  return leaf(node, node.broadcast(node.scalar(0), shape));
}

SmallVector<Value> mpc::gradientsOf(ImportedNode &node, Value y, Value grad,
                                    ArrayRef<Value> leaves) {
  SmallVector<Value> none(leaves.size());
  if (node.failed() || !y || !grad) {
    node.fail();
    return none;
  }
  if (y.getType() != grad.getType()) {
    node.shapeError() << "the gradient is " << typeText(grad.getType())
                      << ", but the differentiated value is "
                      << typeText(y.getType());
    return none;
  }
  OpBuilder &builder = node.graph.builder;
  Operation *last = &*std::prev(builder.getInsertionPoint());
  auto gradients = train::differentiate(builder, y, grad, leaves, node.loc,
                                        "the op's inputs and output");
  if (mlir::failed(gradients)) {
    node.fail();
    return none;
  }
  for (auto [gradient, variable] : llvm::zip_equal(*gradients, leaves))
    if (!gradient)
      gradient = node.broadcast(node.scalar(0), shapeOf(variable));
  // The new ops belong to this node; they are not the gradient of one.
  for (Operation *op = last->getNextNode();
       op && op != &*builder.getInsertionPoint(); op = op->getNextNode())
    op->setLoc(node.loc);
  // Removes the leaves and the forward op.
  for (Value leaf : leaves)
    leaf.replaceAllUsesWith(leaf.getDefiningOp()->getOperand(0));
  while (last && last->getLoc() == node.loc) {
    Operation *op = std::exchange(last, last->getPrevNode());
    if (op->use_empty() && op != grad.getDefiningOp())
      op->erase();
  }
  return *gradients;
}

Value mpc::gradientOf(ImportedNode &node, Value y, Value grad, Value leaf) {
  return gradientsOf(node, y, grad, leaf)[0];
}

SmallVector<int64_t> mpc::knownShape(ImportedNode &node, unsigned input) {
  SmallVector<int64_t> shape = node.knownInts(input);
  if (node.failed())
    return {};
  if (shape.size() > kMaxRank ||
      llvm::any_of(shape, [](int64_t extent) { return extent < 1; })) {
    node.error() << "the shape must have at most " << kMaxRank
                 << " dimensions, all positive, but is [" << ArrayRef(shape)
                 << "]";
    return {};
  }
  llvm::Expected<int64_t> count = countElements(shape);
  if (count)
    return shape;
  node.fail();
  (void)node.graph.report(count.takeError(), node.loc, "the shape");
  return {};
}

Value mpc::sumToDim(ImportedNode &node, Value value, int64_t kept) {
  if (!value)
    return nullptr;
  SmallVector<int64_t> axes;
  for (int64_t dim = 0, rank = shapeOf(value).size(); dim < rank; ++dim)
    if (dim != kept)
      axes.push_back(dim);
  return node.emit<train::ReduceSumOp>(value, node.i64s("axes", axes));
}
