//===- PadClasses.cpp - Pad the classes of a classifier -------------------===//
//
// Implements mpc-pad-classes. The products of a classifier and of its gradients
// have a dimension that counts classes. All ops between the products and the
// loss keep that dimension innermost, so they are padded by changing types;
// what else reads a padded value gets a slice.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Amp/IR/Amp.h"
#include "compiler/Dialect/Train/IR/Views.h"
#include "passes/Fusion/Passes.h"
#include "passes/Grad/EntryPoints.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "mpc-pad-classes"

namespace mpc {
#define GEN_PASS_DEF_PADCLASSESPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

// Libraries read and write rows in whole vectors if each row begins at a
// multiple of this.
static constexpr int64_t kVectorBits = 8 * 16;
// Products with fewer classes or rows cost less than a copy of the weight.
static constexpr int64_t kMinClasses = 512;
static constexpr int64_t kMinRows = 64;
// The classes are padded to whole tiles of the products.
static constexpr int64_t kTile = 64;
static constexpr int64_t kMinElementBits = 16;

static int64_t lastDim(RankedTensorType type) { return type.getRank() - 1; }

/// The extent of the last dimension; 1 for a single number.
static int64_t rowLength(RankedTensorType type) {
  return type.getRank() == 0 ? 1 : type.getShape().back();
}

static RankedTensorType withExtent(RankedTensorType type, int64_t dim,
                                   int64_t extent) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = extent;
  return type.clone(shape);
}

static bool isMisaligned(RankedTensorType type) {
  return rowLength(type) * type.getElementTypeBitWidth() % kVectorBits != 0;
}

static bool hasPaddedFormat(Type type) {
  return isa<Float16Type, BFloat16Type, Float32Type>(
      getElementTypeOrSelf(type));
}

/// The dimension of a factor that the product sums over.
static int64_t summedDim(train::ContractionOpInterface product,
                         unsigned factor) {
  int64_t last = lastDim(typeOf(product->getOperand(factor)));
  return product.isContiguousAlongSum(factor) ? last : last - 1;
}

namespace {

/// How an op is padded.
struct Step {
  Operation *op;
  /// An operand that gets zeros behind the classes, and in which dimension.
  struct Padded {
    unsigned operand;
    int64_t dim;
  };
  SmallVector<Padded, 1> padded = {};
  /// The dimension of the result that is padded.
  std::optional<int64_t> dim = std::nullopt;
  /// Whether the result has padded rows, which the next steps read.
  bool givesRows = false;
};

/// The ops from a product that computes logits to the loss and back.
class Classifier {
public:
  explicit Classifier(train::ContractionOpInterface product)
      : product(product), classes(rowLength(typeOf(product->getResult(0)))),
        padded(llvm::alignTo(classes, kTile)) {}

  /// Finds all ops that can be padded. Returns false if padding gains nothing.
  bool find();
  void pad();

private:
  bool isPadded(Value value) const { return rows.contains(value); }

  /// How `op`, which reads padded rows, is padded. None if it cannot be.
  std::optional<Step> follow(Operation *op) const;
  std::optional<Step> followProduct(train::ContractionOpInterface op) const;
  std::optional<Step> followScores(train::ClassesOpInterface op) const;
  std::optional<Step> followSum(train::ReductionOpInterface op) const;
  std::optional<Step> followElements(Operation *op) const;
  void add(const Step &step);

  Value padOperand(Operation *op, const Step::Padded &where);
  /// Gives a slice of the classes to all users of `result` but steps.
  void slice(OpResult result, int64_t dim, bool hasRows);

  train::ContractionOpInterface product;
  const int64_t classes, padded;
  SmallVector<Step> steps;
  llvm::SmallPtrSet<Operation *, 16> stepOps;
  llvm::SmallPtrSet<Value, 16> rows; ///< Values with padded rows.
  bool hasLoss = false, misaligned = false;
  llvm::DenseMap<std::pair<Value, int64_t>, Value> copies;
};

} // namespace

//===----------------------------------------------------------------------===//
// Finding the ops
//===----------------------------------------------------------------------===//

bool Classifier::find() {
  if (classes * kMinElementBits % kVectorBits == 0 || classes < kMinClasses ||
      product.getExtents().rows < kMinRows ||
      !llvm::all_of(product->getOperandTypes(), hasPaddedFormat))
    return false;
  // Rows of the weight count if they hold classes.
  bool isRow = !product.isContiguousAlongSum(1);
  RankedTensorType weight = typeOf(product->getOperand(1));
  misaligned = isRow && isMisaligned(weight);
  int64_t dim = isRow ? lastDim(weight) : lastDim(weight) - 1;
  int64_t last = lastDim(typeOf(product->getResult(0)));
  add({product, {{1, dim}}, last, /*givesRows=*/true});
  for (Operation *op = product->getNextNode(); op; op = op->getNextNode())
    if (llvm::any_of(op->getOperands(),
                     [&](Value value) { return isPadded(value); }))
      if (std::optional<Step> step = follow(op))
        add(*step);
  return hasLoss && misaligned;
}

void Classifier::add(const Step &step) {
  steps.push_back(step);
  stepOps.insert(step.op);
  hasLoss |= isa<train::ClassesOpInterface>(step.op);
  if (!step.givesRows)
    return;
  Value result = step.op->getResult(0);
  rows.insert(result);
  misaligned |= isMisaligned(typeOf(result));
}

std::optional<Step> Classifier::follow(Operation *op) const {
  if (op->getNumResults() != 1)
    return std::nullopt;
  if (auto other = dyn_cast<train::ContractionOpInterface>(op))
    return followProduct(other);
  if (auto scores = dyn_cast<train::ClassesOpInterface>(op))
    return followScores(scores);
  if (auto sum = dyn_cast<train::ReductionOpInterface>(op))
    return followSum(sum);
  return followElements(op);
}

/// Products with the weight sum over classes; those with the classifier's input
/// have classes as rows or columns.
std::optional<Step>
Classifier::followProduct(train::ContractionOpInterface op) const {
  unsigned own = isPadded(op->getOperand(0)) ? 0 : 1, other = 1 - own;
  if (op.getExtents().sum == 0 || isPadded(op->getOperand(other)))
    return std::nullopt;
  if (!op.isContiguousAlongSum(own)) {
    int64_t last = lastDim(typeOf(op->getResult(0)));
    return Step{op, {}, own == 0 ? last - 1 : last};
  }
  if (typeOf(op->getOperand(other)).getRank() != 2)
    return std::nullopt;
  return Step{op, {{other, summedDim(op, other)}}};
}

std::optional<Step>
Classifier::followScores(train::ClassesOpInterface op) const {
  Value scores = op->getOperand(op.getScoresOperand());
  if (!isPadded(scores) || typeOf(scores).getRank() != 2 || !op.canPadClasses())
    return std::nullopt;
  RankedTensorType result = typeOf(op->getResult(0));
  if (result.getShape() != typeOf(scores).getShape())
    return Step{op};
  return Step{op, {}, lastDim(result), /*givesRows=*/true};
}

std::optional<Step>
Classifier::followSum(train::ReductionOpInterface op) const {
  int64_t last = lastDim(typeOf(op->getOperand(0)));
  if (!op.getSummands() || llvm::is_contained(op.getAxes(), last))
    return std::nullopt;
  return Step{op, {}, lastDim(typeOf(op->getResult(0)))};
}

std::optional<Step> Classifier::followElements(Operation *op) const {
  RankedTensorType result = typeOf(op->getResult(0));
  Step step{op, {}, lastDim(result), /*givesRows=*/true};
  if (rowLength(result) != classes || !hasPaddedFormat(result))
    return std::nullopt;
  if (std::optional<train::View> view = train::viewOf(op)) {
    RankedTensorType viewed = typeOf(view->viewed);
    bool keepsRows = isPadded(view->viewed) && rowLength(viewed) == classes &&
                     viewed.getNumElements() == result.getNumElements();
    return keepsRows ? std::optional(step) : std::nullopt;
  }
  auto affine = dyn_cast<train::AffineOpInterface>(op);
  if (!affine && !isa<amp::CastOp>(op))
    return std::nullopt;
  for (OpOperand &operand : op->getOpOperands()) {
    RankedTensorType type = typeOf(operand.get());
    unsigned number = operand.getOperandNumber();
    if (rowLength(type) == 1)
      continue;
    // Sums and products of the zeros in the padding are finite; other numbers
    // would reach the gradient of the input.
    if (affine && !affine.isAffineIn(number))
      return std::nullopt;
    if (isPadded(operand.get()))
      continue;
    // A bias is short; a copy of other values would cost too much.
    if (type.getNumElements() != classes)
      return std::nullopt;
    step.padded.push_back({number, lastDim(type)});
  }
  return step;
}

//===----------------------------------------------------------------------===//
// Padding them
//===----------------------------------------------------------------------===//

void Classifier::pad() {
  LDBG() << "padding " << classes << " classes to " << padded << ": "
         << *product;
  for (const Step &step : steps) {
    for (const Step::Padded &where : step.padded)
      step.op->setOperand(where.operand, padOperand(step.op, where));
    if (auto scores = dyn_cast<train::ClassesOpInterface>(step.op))
      scores.padClasses(classes);
    if (!step.dim)
      continue;
    OpResult result = step.op->getResult(0);
    result.setType(withExtent(typeOf(result), *step.dim, padded));
    slice(result, *step.dim, step.givesRows);
  }
}

Value Classifier::padOperand(Operation *op, const Step::Padded &where) {
  Value value = op->getOperand(where.operand);
  Value &copy = copies[{value, where.dim}];
  if (copy)
    return copy;
  OpBuilder builder(op);
  RankedTensorType type =
      withExtent(typeOf(value), where.dim, padded - classes);
  Attribute zero = builder.getZeroAttr(type.getElementType());
  Value zeros = train::ConstantOp::create(builder, op->getLoc(),
                                          DenseElementsAttr::get(type, zero));
  copy = train::ConcatOp::create(builder, op->getLoc(),
                                 ValueRange{value, zeros}, where.dim);
  return copy;
}

void Classifier::slice(OpResult result, int64_t dim, bool hasRows) {
  auto needsSlice = [&](OpOperand &use) {
    if (hasRows && stepOps.contains(use.getOwner()))
      return false;
    // Barriers only wait for their other operand.
    std::optional<train::View> view = train::viewOf(use.getOwner());
    return !view || view->viewed == use.get();
  };
  if (llvm::none_of(result.getUses(), needsSlice))
    return;
  Operation *op = result.getOwner();
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  RankedTensorType type = typeOf(result);
  SmallVector<int64_t> offsets(type.getRank(), 0);
  Value part = train::SliceOp::create(
      builder, op->getLoc(), withExtent(type, dim, classes), result, offsets);
  result.replaceUsesWithIf(part, [&](OpOperand &use) {
    return use.getOwner() != part.getDefiningOp() && needsSlice(use);
  });
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {

struct PadClassesPass : mpc::impl::PadClassesPassBase<PadClassesPass> {
  using Base::Base;

  void runOnOperation() override {
    if (!device->isAccelerator())
      return;
    SmallVector<train::ContractionOpInterface> products;
    getOperation().walk([&](train::ContractionOpInterface product) {
      products.push_back(product);
    });
    for (train::ContractionOpInterface product : products) {
      Classifier classifier(product);
      if (classifier.find())
        classifier.pad();
    }
  }
};

} // namespace
