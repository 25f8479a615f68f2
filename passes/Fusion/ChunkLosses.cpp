//===- ChunkLosses.cpp - Logits and their loss for some rows at a time ----===//
//
// Implements mpc-chunk-losses. All ops between the product that computes logits
// and the results of the loss and its gradients are found first; then they are
// written out once for each chunk of rows. Barriers keep chunks in order.
//
//===----------------------------------------------------------------------===//

#include "compiler/Attributes/Attributes.h"
#include "compiler/Dialect/Amp/IR/Amp.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/IR/Views.h"
#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Dialect/Train/Ops/Recompute/Recompute.h"
#include "passes/Fusion/Passes.h"
#include "passes/Grad/EntryPoints.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "mpc-chunk-losses"

namespace mpc {
#define GEN_PASS_DEF_CHUNKLOSSESPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

static ArrayRef<int64_t> shapeOf(Value value) {
  return typeOf(value).getShape();
}
static int64_t rowLength(Value value) { return shapeOf(value).back(); }
static int64_t countRows(Value value) {
  return typeOf(value).getNumElements() / rowLength(value);
}

namespace {

/// What becomes of a value that is computed in chunks.
enum class Part {
  Rows,   ///< Rows of logits or their gradient: only chunks exist.
  Joined, ///< A row or an element for each row: chunks are joined.
  Summed, ///< A sum over rows: those of chunks are added.
};

/// The ops from a product that computes logits to the loss and back.
class ChunkedLoss {
public:
  explicit ChunkedLoss(train::ContractionOpInterface product)
      : product(product), rows(countRows(product->getResult(0))),
        classes(rowLength(product->getResult(0))) {}

  /// Finds all ops that read rows of logits. Returns false if one of them does
  /// not work on chunks, or if there is no loss.
  bool find();
  /// The number of chunks, at least 1, given the smallest number of rows whose
  /// products are fast.
  int64_t countChunks(int64_t minRows, int64_t minBytes) const;
  void chunk(int64_t chunks);

private:
  /// A chunk: the results of all ops for rows from `begin` on.
  struct Chunk {
    int64_t begin, count;
    IRMapping values;
  };

  bool isRow(Value value) const { return rowValues.contains(value); }
  /// What the result of `op`, which reads rows, becomes. None if it does not
  /// work on chunks.
  std::optional<Part> follow(Operation *op) const;
  std::optional<Part> followProduct(train::ContractionOpInterface op) const;
  std::optional<Part> followScores(train::ClassesOpInterface op) const;
  std::optional<Part> followSum(train::ReductionOpInterface op) const;
  std::optional<Part> followElements(Operation *op) const;
  /// Whether all that steps read is computed before the product, or can be.
  bool canHoistOperands();
  bool canHoist(Value value);

  Value rowsOf(OpBuilder &builder, Value value, const Chunk &chunk) const;
  void emit(OpBuilder &builder, Chunk &chunk, Value input);
  Value emitStep(OpBuilder &builder, Operation *op, Part part,
                 const Chunk &chunk);
  Value finish(OpBuilder &builder, Operation *op, ArrayRef<Value> parts) const;

  train::ContractionOpInterface product;
  int64_t rows, classes;
  llvm::MapVector<Operation *, Part> steps;
  llvm::SmallPtrSet<Value, 16> rowValues;
  llvm::SetVector<Operation *> hoisted; ///< Operands must be computed first.
  llvm::SmallPtrSet<Operation *, 4> barriers; ///< What they must not wait for.
  /// For gradients of losses: the gradients at the losses of rows.
  llvm::DenseMap<Operation *, Value> rowGrads;
};

} // namespace

//===----------------------------------------------------------------------===//
// Finding the ops
//===----------------------------------------------------------------------===//

bool ChunkedLoss::find() {
  if (product.getExtents().sum == 0 || !product.isContiguousAlongSum(0) ||
      shapeOf(product->getOperand(1)).size() != 2)
    return false;
  rowValues.insert(product->getResult(0));
  bool readsLabels = false;
  for (Operation *op = product->getNextNode(); op; op = op->getNextNode()) {
    if (llvm::none_of(op->getOperands(), [&](Value v) { return isRow(v); }))
      continue;
    std::optional<Part> part =
        op->getNumResults() == 1 ? follow(op) : std::nullopt;
    if (!part)
      return false;
    steps[op] = *part;
    if (*part == Part::Rows)
      rowValues.insert(op->getResult(0));
    readsLabels |= isa<train::ClassesOpInterface>(op);
  }
  return readsLabels && canHoistOperands();
}

std::optional<Part> ChunkedLoss::follow(Operation *op) const {
  if (auto other = dyn_cast<train::ContractionOpInterface>(op))
    return followProduct(other);
  if (auto scores = dyn_cast<train::ClassesOpInterface>(op))
    return followScores(scores);
  if (auto sum = dyn_cast<train::ReductionOpInterface>(op))
    return followSum(sum);
  return followElements(op);
}

/// The product with the weight, and the gradient of the weight.
std::optional<Part>
ChunkedLoss::followProduct(train::ContractionOpInterface op) const {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  if (op.getExtents().sum == 0 || isRow(lhs) == isRow(rhs))
    return std::nullopt;
  if (isRow(lhs) && op.isContiguousAlongSum(0))
    return shapeOf(rhs).size() == 2 ? std::optional(Part::Joined)
                                    : std::nullopt;
  bool sumsRows = !op.isContiguousAlongSum(0) && !op.isContiguousAlongSum(1) &&
                  shapeOf(lhs).size() == 2 && shapeOf(rhs).size() == 2 &&
                  getElementTypeOrSelf(op->getResult(0)).isF32();
  return sumsRows ? std::optional(Part::Summed) : std::nullopt;
}

std::optional<Part>
ChunkedLoss::followScores(train::ClassesOpInterface op) const {
  Value scores = op->getOperand(op.getScoresOperand());
  Value result = op->getResult(0);
  if (!isRow(scores) || shapeOf(scores).size() != 2 ||
      !getElementTypeOrSelf(result).isF32())
    return std::nullopt;
  return shapeOf(result) == shapeOf(scores) ? Part::Rows : Part::Joined;
}

std::optional<Part>
ChunkedLoss::followSum(train::ReductionOpInterface op) const {
  Value result = op->getResult(0);
  auto leading = llvm::seq<int64_t>(0, shapeOf(op->getOperand(0)).size() - 1);
  if (!op.getSummands() || !llvm::equal(op.getAxes(), leading) ||
      shapeOf(result).size() != 1 || !getElementTypeOrSelf(result).isF32())
    return std::nullopt;
  return Part::Summed;
}

/// Ops that compute each element from one of each operand. Random ones, which
/// depend on its place, read integers.
std::optional<Part> ChunkedLoss::followElements(Operation *op) const {
  Value result = op->getResult(0);
  if (std::optional<train::View> view = train::viewOf(op)) {
    // Chunks are in order without barriers, too.
    bool keepsRows = isRow(view->viewed) && !shapeOf(result).empty() &&
                     rowLength(result) == classes && countRows(result) == rows;
    return keepsRows ? std::optional(Part::Rows) : std::nullopt;
  }
  if (!op->hasTrait<train::ElementByElement>() && !isa<amp::CastOp>(op))
    return std::nullopt;
  for (Value operand : op->getOperands()) {
    bool fits = isRow(operand) ? shapeOf(operand) == shapeOf(result)
                               : shapeOf(operand).size() <= 1;
    if (!fits || !isa<FloatType>(getElementTypeOrSelf(operand)))
      return std::nullopt;
  }
  return Part::Rows;
}

bool ChunkedLoss::canHoistOperands() {
  for (auto &[op, part] : steps) {
    if (train::viewOf(op))
      continue;
    for (Value operand : op->getOperands())
      if (!isRow(operand) && !canHoist(operand))
        return false;
  }
  return true;
}

bool ChunkedLoss::canHoist(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || hoisted.contains(op) || op->isBeforeInBlock(product))
    return true;
  if (auto barrier = dyn_cast<train::RematBarrierOp>(op)) {
    barriers.insert(barrier);
    return canHoist(barrier.getValue());
  }
  if (op == product || steps.contains(op) || !isPure(op) ||
      !llvm::all_of(op->getOperands(),
                    [&](Value operand) { return canHoist(operand); }))
    return false;
  hoisted.insert(op);
  return true;
}

/// Chunks must save a quarter of the memory of the logits. They need that of a
/// chunk, and of a second gradient of the weight, which is added to the first.
int64_t ChunkedLoss::countChunks(int64_t minRows, int64_t minBytes) const {
  bool hasSum = false;
  for (const auto &[op, part] : steps)
    hasSum |= part == Part::Summed && isa<train::ContractionOpInterface>(op);
  int64_t inputs = hasSum ? rowLength(product->getOperand(0)) : 0;
  int64_t chunks = rows / std::max(minRows, inputs);
  if (chunks < 2 || rows * classes < minBytes / 4)
    return 1;
  return 4 * (rows / chunks + inputs) <= 3 * rows ? chunks : 1;
}

//===----------------------------------------------------------------------===//
// Writing chunks
//===----------------------------------------------------------------------===//

/// The rows of a chunk of `value`, which has a row or an element for each.
Value ChunkedLoss::rowsOf(OpBuilder &builder, Value value,
                          const Chunk &chunk) const {
  SmallVector<int64_t> shape(shapeOf(value)), offsets(shape.size(), 0);
  shape[0] = chunk.count;
  offsets[0] = chunk.begin;
  return train::SliceOp::create(
      builder, value.getLoc(),
      RankedTensorType::get(shape, getElementTypeOrSelf(value)), value,
      offsets);
}

/// Writes a step with the chunk's values in place of rows. Returns its result.
Value ChunkedLoss::emitStep(OpBuilder &builder, Operation *op, Part part,
                            const Chunk &chunk) {
  Value result = op->getResult(0);
  if (std::optional<train::View> view = train::viewOf(op))
    return chunk.values.lookup(view->viewed);
  if (isa<train::ReductionOpInterface>(op))
    return train::ReduceSumOp::create(builder, op->getLoc(),
                                      chunk.values.lookup(op->getOperand(0)),
                                      ArrayRef<int64_t>{0});
  // What else has rows.
  IRMapping operands = chunk.values;
  auto takeRows = [&](Value operand) {
    if (!isRow(operand))
      operands.map(operand, rowsOf(builder, operand, chunk));
  };
  auto scores = dyn_cast<train::ClassesOpInterface>(op);
  if (scores)
    takeRows(op->getOperand(scores.getLabelsOperand()));
  if (part == Part::Summed)
    llvm::for_each(op->getOperands(), takeRows);
  Value grads = rowGrads.lookup(op);
  if (grads)
    grads = rowsOf(builder, grads, chunk);

  Operation *copy = builder.clone(*op, operands);
  if (scores)
    cast<train::ClassesOpInterface>(copy).computeRows(grads);
  SmallVector<int64_t> shape(shapeOf(result));
  if (part != Part::Summed) {
    shape = {chunk.count};
    if (isRow(result) || !scores)
      shape.push_back(rowLength(result));
  }
  copy->getResult(0).setType(
      RankedTensorType::get(shape, getElementTypeOrSelf(result)));
  return copy->getResult(0);
}

void ChunkedLoss::emit(OpBuilder &builder, Chunk &chunk, Value input) {
  IRMapping operands;
  operands.map(product->getOperand(0), rowsOf(builder, input, chunk));
  Value logits = builder.clone(*product, operands)->getResult(0);
  logits.setType(RankedTensorType::get({chunk.count, classes},
                                       getElementTypeOrSelf(logits)));
  chunk.values.map(product->getResult(0), logits);
  for (auto &[op, part] : steps)
    chunk.values.map(op->getResult(0), emitStep(builder, op, part, chunk));
}

/// The result of `op`, from those of chunks. Sums were added already.
Value ChunkedLoss::finish(OpBuilder &builder, Operation *op,
                          ArrayRef<Value> parts) const {
  if (steps.lookup(op) == Part::Summed)
    return parts.back();
  Value joined = train::ConcatOp::create(builder, op->getLoc(), parts, 0);
  if (auto scores = dyn_cast<train::ClassesOpInterface>(op))
    return scores.reduceRows(builder, joined);
  return train::reshapeTo(builder, op->getLoc(), joined,
                          shapeOf(op->getResult(0)));
}

void ChunkedLoss::chunk(int64_t chunks) {
  LDBG() << chunks << " chunks of " << rows << " rows: " << *product;
  // The input is in memory during all chunks, so it is not recomputed for the
  // gradient of the weight.
  for (Operation *op : barriers)
    op->getResult(0).replaceUsesWithIf(op->getOperand(0), [&](OpOperand &use) {
      return hoisted.contains(use.getOwner()) || steps.contains(use.getOwner());
    });
  for (Operation *op : hoisted) {
    op->moveBefore(product);
    op->removeAttr(kRecomputedAttr);
  }
  OpBuilder builder(product);
  Location loc = product.getLoc();
  for (auto &[op, part] : steps)
    if (auto scores = dyn_cast<train::ClassesOpInterface>(op))
      rowGrads[op] = scores.buildRowGrads(builder);
  Value input = product->getOperand(0);
  input = train::reshapeTo(builder, loc, input, {rows, rowLength(input)});
  llvm::MapVector<Operation *, SmallVector<Value>> parts;
  for (int64_t i = 0; i < chunks; ++i) {
    int64_t begin = rows * i / chunks, end = rows * (i + 1) / chunks;
    Chunk chunk{begin, end - begin, {}};
    // A chunk begins when nothing but results of those before it is in memory.
    Value ready = input;
    for (auto &[op, values] : parts)
      ready = train::RematBarrierOp::create(builder, loc, ready, values.back());
    emit(builder, chunk, ready);
    for (auto &[op, part] : steps) {
      if (part == Part::Rows)
        continue;
      Value value = chunk.values.lookup(op->getResult(0));
      if (part == Part::Summed && i > 0)
        value = train::AddOp::create(builder, op->getLoc(), parts[op].back(),
                                     value);
      parts[op].push_back(value);
    }
  }
  for (auto &[op, values] : parts)
    op->getResult(0).replaceAllUsesWith(finish(builder, op, values));
  for (auto &[op, part] : llvm::reverse(steps))
    op->erase();
  product->erase();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {

struct ChunkLossesPass : mpc::impl::ChunkLossesPassBase<ChunkLossesPass> {
  using Base::Base;

  void runOnOperation() override {
    int64_t least = minRows;
    if (least == 0)
      least = device->isAccelerator() ? 8192 : 1024;
    // Chunking erases products.
    std::vector<std::pair<ChunkedLoss, int64_t>> found;
    getOperation().walk([&](train::ContractionOpInterface product) {
      ChunkedLoss loss(product);
      if (!loss.find())
        return;
      if (int64_t chunks = loss.countChunks(least, minBytes); chunks > 1)
        found.emplace_back(std::move(loss), chunks);
    });
    for (auto &[loss, chunks] : found)
      loss.chunk(chunks);
  }
};

} // namespace
