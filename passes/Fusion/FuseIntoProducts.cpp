//===- FuseIntoProducts.cpp - Products that compute what follows ----------===//
//
// Implements mpc-fuse-into-products.
//
//===----------------------------------------------------------------------===//

#include "compiler/Attributes/Attributes.h"
#include "compiler/Dialect/Amp/IR/Amp.h"
#include "compiler/Dialect/Train/IR/Program.h"
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

/// A product and a bias that are added.
struct BiasedProduct {
  train::ContractionOpInterface product; ///< Null if there is none.
  Value factor; ///< The operand of the sum that has the product's elements.
  Value bias;   ///< In the type of the product.
};

struct FuseIntoProductsPass
    : mpc::impl::FuseIntoProductsPassBase<FuseIntoProductsPass> {
  using Base::Base;

  void runOnOperation() override {
    available.clear();
    StringRef(features).split(available, ',');
    func::FuncOp func = getOperation();
    for (auto write : llvm::to_vector(func.getOps<train::WriteOp>()))
      sumByPart(write);
    SmallVector<Operation *> sums, gelus, slopes;
    for (auto op : func.getOps<train::EpilogueOpInterface>()) {
      if (op.getEpilogue() == train::Epilogue::Sum)
        sums.push_back(op);
      if (op.getEpilogue() == train::Epilogue::Gelu)
        gelus.push_back(op);
      if (op.getEpilogue() == train::Epilogue::GeluGrad)
        slopes.push_back(op);
    }
    // From the last one on: what reads a sum of several products is known to be
    // a product by then.
    for (Operation *sum : llvm::reverse(sums))
      fuseSum(sum);
    llvm::for_each(slopes, [&](Operation *op) { fuseGeluGrad(op); });
    llvm::for_each(gelus, [&](Operation *op) { fuseGelu(op); });
    // Last, because GELU takes a bias with it.
    for (auto op :
         llvm::make_early_inc_range(func.getOps<train::EpilogueOpInterface>()))
      if (op.getEpilogue() == train::Epilogue::Sum)
        fuseBias(op);
  }

private:
  /// The product that computes `value`, if it is the gradient of a weight and
  /// the device can add to it.
  train::ContractionOpInterface productOf(Value value) const {
    auto product = value.getDefiningOp<train::ContractionOpInterface>();
    auto facts =
        dyn_cast_or_null<amp::PrecisionOpInterface>(value.getDefiningOp());
    if (!product || !value.hasOneUse() || !facts || !facts.isResultPinned(0) ||
        !hasKernel(product, train::Epilogue::Sum))
      return {};
    return product;
  }

  bool hasKernel(train::ContractionOpInterface product,
                 train::Epilogue epilogue) const {
    return device->computesIn(product.getEpilogueKernelName(epilogue),
                              getElementTypeOrSelf(product->getOperand(0)),
                              available);
  }

  void sumByPart(train::WriteOp write);
  void fuseSum(Operation *sum) const;
  train::ContractionOpInterface matrixProductOf(Value value,
                                                train::Epilogue epilogue) const;
  Value biasIn(Value bias, Type element);
  BiasedProduct biasedProductOf(Operation *sum, train::Epilogue epilogue);
  void fuseBias(Operation *sum);
  void fuseGelu(Operation *gelu);
  void fuseGeluGrad(Operation *slope) const;

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
void FuseIntoProductsPass::fuseSum(Operation *sum) const {
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
    sum->replaceAllUsesWith(
        product.buildWithEpilogue(builder, train::Epilogue::Sum, addend));
    sum->erase();
    product->erase();
    return;
  }
}

//===----------------------------------------------------------------------===//
// Bias and GELU
//===----------------------------------------------------------------------===//

/// Columns of results that kernels for epilogues process at once.
static constexpr int64_t kEpilogueColumns = 8;

/// The product of two matrices of one type whose elements are those of `value`,
/// of this type, if nothing else reads them and the device can compute the
/// epilogue with it.
train::ContractionOpInterface
FuseIntoProductsPass::matrixProductOf(Value value,
                                      train::Epilogue epilogue) const {
  auto type = typeOf(value);
  while (auto view = train::viewOf(value.getDefiningOp())) {
    if (!value.hasOneUse())
      return {};
    value = view->viewed;
  }
  auto product = value.getDefiningOp<train::ContractionOpInterface>();
  if (!product || !value.hasOneUse() || !hasKernel(product, epilogue))
    return {};
  train::ProductExtents extents = product.getExtents();
  bool fits = extents.sum != 0 && extents.columns % kEpilogueColumns == 0 &&
              extents.rows * extents.columns == type.getNumElements();
  for (Value factor : product->getOperands())
    fits &= getElementTypeOrSelf(factor) == type.getElementType();
  return fits && getElementTypeOrSelf(value) == type.getElementType()
             ? product
             : train::ContractionOpInterface();
}

/// Makes the factors and the result of a product matrices.
static void makeMatrices(OpBuilder &builder,
                         train::ContractionOpInterface product) {
  train::ProductExtents extents = product.getExtents();
  Value lhs = product->getOperand(0), result = product->getResult(0);
  if (typeOf(lhs).getRank() > 2)
    product->setOperand(0, train::reshapeTo(builder, product.getLoc(), lhs,
                                            {extents.rows, extents.sum}));
  result.setType(RankedTensorType::get({extents.rows, extents.columns},
                                       getElementTypeOrSelf(result)));
}

/// Erases ops that nothing reads any more: views of a product and the product.
static void eraseUnused(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    std::optional<train::View> view = train::viewOf(op);
    bool isProduct = isa<train::ContractionOpInterface>(op);
    if (!op->use_empty() || (!view && !isProduct))
      return;
    value = view ? view->viewed : Value();
    op->erase();
    if (!value)
      return;
  }
}

/// `bias`, a parameter, as an element of type `element`: from the working copy.
/// Null if there is none; a cast would take a launch.
Value FuseIntoProductsPass::biasIn(Value bias, Type element) {
  if (getElementTypeOrSelf(bias) == element)
    return bias;
  auto part = bias.getDefiningOp<train::UnpackOp>();
  auto read =
      part ? part.getPacked().getDefiningOp<train::ReadOp>() : train::ReadOp();
  if (!read)
    return {};
  train::Program program = train::Program::around(getOperation());
  for (train::StateOp copy : program.states(train::StateRole::WorkingCopy)) {
    if (copy.getOf() != read.getState() ||
        getElementTypeOrSelf(copy.getType()) != element)
      continue;
    Value packed = train::getOrCreateRead(getOperation(), copy);
    OpBuilder builder(part);
    builder.setInsertionPointAfter(packed.getDefiningOp());
    return train::UnpackOp::create(
        builder, part.getLoc(),
        RankedTensorType::get(typeOf(bias).getShape(), element), packed,
        part.getOffsetAttr());
  }
  return {};
}

/// Whether `op` or what reads `operands` is computed again for the backward
/// pass, or for the first time because of that.
static bool isComputedTwice(Operation *op, ValueRange operands) {
  return op->hasAttr(kRecomputedAttr) ||
         llvm::any_of(operands, [](Value operand) {
           return llvm::any_of(operand.getUsers(), [&](Operation *user) {
             auto barrier = dyn_cast<train::RematBarrierOp>(user);
             return barrier && barrier.getValue() == operand;
           });
         });
}

/// The product and the bias that `sum` adds, if the device can compute the
/// epilogue with them. None if one of them is computed again: as readers
/// decide, too, only one of the two could have an epilogue, and its bits would
/// differ.
BiasedProduct FuseIntoProductsPass::biasedProductOf(Operation *sum,
                                                    train::Epilogue epilogue) {
  RankedTensorType type = typeOf(sum->getResult(0));
  Type element = type.getElementType();
  for (unsigned i : {0, 1}) {
    Value factor = sum->getOperand(i), bias = sum->getOperand(1 - i);
    if (typeOf(factor) != type)
      continue;
    auto product = matrixProductOf(factor, epilogue);
    if (!product || typeOf(bias).getRank() != 1 ||
        typeOf(bias).getDimSize(0) != product.getExtents().columns)
      continue;
    if (isComputedTwice(sum, product->getOperands()) ||
        isComputedTwice(product, bias)) {
      LDBG() << "computed again: " << *sum;
      continue;
    }
    if (Value narrow = biasIn(bias, element))
      return {product, factor, narrow};
    LDBG() << "no bias in 16 bits: " << *sum;
  }
  return {};
}

/// Calls `visit` with each op that reads `value`, also through views.
static void forEachReader(Value value,
                          llvm::function_ref<void(Operation *)> visit) {
  for (Operation *user : value.getUsers())
    if (train::isView(user))
      forEachReader(user->getResult(0), visit);
    else
      visit(user);
}

/// Whether, in addition to one GELU, other ops read `argument`. Not if it is
/// computed again: that would give other bits, because a product does not round
/// its argument first.
static bool isKeptArgument(Value argument) {
  unsigned gelus = 0, others = 0;
  forEachReader(argument, [&](Operation *reader) {
    auto op = dyn_cast<train::EpilogueOpInterface>(reader);
    ++(op && op.getEpilogue() == train::Epilogue::Gelu ? gelus : others);
  });
  return gelus == 1 && others > 0;
}

/// Replaces `old` by `value`, which has its elements.
static void replaceBy(OpBuilder &builder, Value old, Value value) {
  old.replaceAllUsesWith(
      train::reshapeTo(builder, old.getLoc(), value, typeOf(old).getShape()));
}

/// Lets a product add a bias if only kernels of the catalog read the sum.
/// Generated kernels add it themselves while they read the product.
void FuseIntoProductsPass::fuseBias(Operation *sum) {
  Value value = sum->getResult(0);
  bool isForKernels = !value.use_empty();
  forEachReader(value, [&](Operation *reader) {
    isForKernels &= isa<train::KernelOpInterface>(reader);
  });
  if (!isForKernels)
    return;
  auto [product, factor, bias] = biasedProductOf(sum, train::Epilogue::Bias);
  if (!product)
    return;
  OpBuilder builder(sum);
  makeMatrices(builder, product);
  replaceBy(builder, value,
            product.buildWithEpilogue(builder, train::Epilogue::Bias, bias)[0]);
  sum->erase();
  eraseUnused(factor);
}

/// Lets a product compute GELU of its sum with a bias, if its gradient also
/// reads the sum: a kernel would write both.
void FuseIntoProductsPass::fuseGelu(Operation *gelu) {
  Value argument = train::skipViews(gelu->getOperand(0));
  auto sum = argument.getDefiningOp<train::EpilogueOpInterface>();
  Type element = getElementTypeOrSelf(gelu->getResult(0));
  if (!sum || sum.getEpilogue() != train::Epilogue::Sum ||
      getElementTypeOrSelf(argument) != element || !isKeptArgument(argument) ||
      typeOf(argument).getNumElements() !=
          typeOf(gelu->getOperand(0)).getNumElements())
    return;
  auto [product, factor, bias] = biasedProductOf(sum, train::Epilogue::Gelu);
  if (!product)
    return;
  OpBuilder builder(sum);
  makeMatrices(builder, product);
  ResultRange results =
      product.buildWithEpilogue(builder, train::Epilogue::Gelu, bias);
  replaceBy(builder, gelu->getResult(0), results[0]);
  gelu->erase();
  replaceBy(builder, argument, results[1]);
  sum->erase();
  eraseUnused(factor);
}

/// Lets the product that computes a gradient multiply it by the derivative.
void FuseIntoProductsPass::fuseGeluGrad(Operation *slope) const {
  Value gradient = slope->getOperand(0), argument = slope->getOperand(1);
  Value result = slope->getResult(0);
  Type element = getElementTypeOrSelf(result);
  auto product = matrixProductOf(gradient, train::Epilogue::GeluGrad);
  if (!product || getElementTypeOrSelf(gradient) != element ||
      getElementTypeOrSelf(argument) != element)
    return;
  OpBuilder builder(slope);
  train::ProductExtents extents = product.getExtents();
  makeMatrices(builder, product);
  Value matrix = train::reshapeTo(builder, slope->getLoc(), argument,
                                  {extents.rows, extents.columns});
  Value value =
      product.buildWithEpilogue(builder, train::Epilogue::GeluGrad, matrix)[0];
  replaceBy(builder, result, value);
  slope->erase();
  eraseUnused(gradient);
}
