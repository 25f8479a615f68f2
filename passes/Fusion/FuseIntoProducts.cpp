//===- FuseIntoProducts.cpp - Products that add to a tensor ---------------===//
//
// Implements mpc-fuse-into-products.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Amp/IR/Amp.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/IR/Views.h"
#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Dialect/Train/Ops/Recompute/Recompute.h"
#include "compiler/Target/Backend.h"
#include "passes/Fusion/Passes.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "mpc-fuse-into-products"

namespace mpc {
#define GEN_PASS_DEF_FUSEINTOPRODUCTSPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

struct FuseIntoProductsPass
    : mpc::impl::FuseIntoProductsPassBase<FuseIntoProductsPass> {
  using Base::Base;

  void runOnOperation() override {
    available.clear();
    StringRef(features).split(available, ',');
    func::FuncOp func = getOperation();
    for (auto write : llvm::to_vector(func.getOps<train::WriteOp>()))
      sumByPart(write);
    // From the last one on: what reads a sum of several products is known to be
    // a product by then.
    SmallVector<train::EpilogueOpInterface> sums;
    for (auto op : func.getOps<train::EpilogueOpInterface>())
      if (op.getEpilogue() == train::Epilogue::Sum)
        sums.push_back(op);
    for (Operation *sum : llvm::reverse(sums))
      fuse(sum);
  }

private:
  /// The product that computes `value`, if it is the gradient of a weight and
  /// the device can add to it.
  train::ContractionOpInterface productOf(Value value) const {
    auto product = value.getDefiningOp<train::ContractionOpInterface>();
    auto facts =
        dyn_cast_or_null<amp::PrecisionOpInterface>(value.getDefiningOp());
    if (!product || !value.hasOneUse() || !facts || !facts.isResultPinned(0) ||
        !device->computesIn(product.getAddingKernelName(),
                            getElementTypeOrSelf(product->getOperand(0)),
                            available))
      return {};
    return product;
  }

  void sumByPart(train::WriteOp write);
  void fuse(Operation *sum) const;

  SmallVector<StringRef> available; ///< Features of the device.
};

} // namespace

/// A value as a part of a packed tensor: without views that keep all elements.
static Value wholeOf(Value value) {
  Value root = train::skipViews(value);
  bool isWhole =
      train::viewOf(value.getDefiningOp()) && root.getDefiningOp() &&
      typeOf(root).getNumElements() == typeOf(value).getNumElements();
  return isWhole ? root : value;
}

/// Adds gradients to a state's parts one by one instead of packing them first.
/// On a GPU, where each takes a launch, only if some of them are products,
/// which can then add to the state.
void FuseIntoProductsPass::sumByPart(train::WriteOp write) {
  auto sum = write.getValue().getDefiningOp<train::EpilogueOpInterface>();
  if (!sum || sum.getEpilogue() != train::Epilogue::Sum || !sum->hasOneUse())
    return;
  train::ReadOp state;
  train::PackOp pack;
  for (Value operand : sum->getOperands()) {
    if (auto read = operand.getDefiningOp<train::ReadOp>())
      state = read;
    if (auto parts = operand.getDefiningOp<train::PackOp>())
      pack = parts;
  }
  if (!state || !pack || state.getState() != write.getState() ||
      state.getType() != pack.getType() ||
      sum->getResultTypes().front() != pack.getType() ||
      !state.getResult().hasOneUse() || !pack.getResult().hasOneUse() ||
      (device->isAccelerator() &&
       llvm::none_of(pack.getInputs(),
                     [&](Value part) { return productOf(wholeOf(part)); })))
    return;

  state->moveBefore(&getOperation().front().front());
  OpBuilder builder(getOperation().getContext());
  SmallVector<Value> parts;
  for (auto [part, offset] : llvm::zip(pack.getInputs(), pack.getOffsets())) {
    Value gradient = wholeOf(part);
    builder.setInsertionPointAfter(state);
    Value old = train::UnpackOp::create(builder, sum.getLoc(),
                                        gradient.getType(), state, offset);
    // Where the gradient is computed, so that its operands are not needed for
    // longer.
    if (Operation *def = gradient.getDefiningOp())
      builder.setInsertionPointAfter(def);
    Value next = train::AddOp::create(builder, sum.getLoc(), old, gradient);
    next.getDefiningOp()->setDiscardableAttrs(
        sum->getDiscardableAttrDictionary());
    parts.push_back(train::reshapeTo(builder, part.getLoc(), next,
                                     typeOf(part).getShape()));
  }
  LDBG() << parts.size() << " parts of '" << write.getState() << "'";
  builder.setInsertionPoint(sum);
  auto sums = train::PackOp::create(builder, pack.getLoc(), pack.getType(),
                                    parts, pack.getOffsets());
  sum->replaceAllUsesWith(sums);
  sum->erase();
  pack.erase();
  // Views of gradients that only the pack has read.
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(getOperation().front())))
    if (op.use_empty() && train::isView(&op))
      op.erase();
}

/// Whether one op alone reads `value`. Barriers only wait for it.
static bool isReadOnce(Value value) {
  return llvm::count_if(value.getUses(), [](OpOperand &use) {
           auto barrier = dyn_cast<train::RematBarrierOp>(use.getOwner());
           return !barrier || &use == &barrier.getValueMutable();
         }) == 1;
}

/// Lets the product that computes one operand of `sum` add to the other.
void FuseIntoProductsPass::fuse(Operation *sum) const {
  Type type = sum->getResultTypes().front();
  for (unsigned i : {0, 1}) {
    Value addend = sum->getOperand(1 - i);
    auto product = productOf(sum->getOperand(i));
    if (!product || addend.getType() != type ||
        product->getResult(0).getType() != type)
      continue;
    // A sum in place needs an addend that exists and that nothing else reads.
    Operation *def = addend.getDefiningOp();
    if (!def || !def->isBeforeInBlock(product) || !isReadOnce(addend)) {
      LDBG() << "addend is later or read elsewhere: " << *sum;
      continue;
    }
    OpBuilder builder(product);
    sum->replaceAllUsesWith(ValueRange(product.buildAdding(builder, addend)));
    sum->erase();
    product->erase();
    return;
  }
}
