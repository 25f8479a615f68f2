//===- LegalizeKernelTypes.cpp - Element types of catalog kernels ---------===//
//
// Implements mpc-legalize-kernel-types from the table in kernels/catalog.def.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/Ops/Recompute/Recompute.h"
#include "passes/Fusion/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_LEGALIZEKERNELTYPESPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

static Value castTo(OpBuilder &builder, Location loc, Value value,
                    Type element) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == element)
    return value;
  return amp::CastOp::create(builder, loc, type.clone(element), value);
}

static bool isNarrow(Type type) {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  return element && element.getWidth() < 32;
}

/// Widens FP8 operands to bf16, which holds them exactly.
static void widenFp8(Operation *op) {
  OpBuilder builder(op);
  for (OpOperand &operand : op->getOpOperands())
    if (amp::isFp8(operand.get().getType()))
      operand.set(
          castTo(builder, op->getLoc(), operand.get(), builder.getBF16Type()));
}

namespace {

/// The factors that remove scales from products: their reciprocals, which are
/// exact because scales are powers of two.
class Factors {
public:
  Value of(Value scale) {
    scale = train::skipBarriers(scale);
    auto unpack = scale.getDefiningOp<train::UnpackOp>();
    if (!unpack)
      return inverseOf(scale);
    // One small kernel inverts all scales of a state.
    Value all = inverseOf(train::skipBarriers(unpack.getPacked()));
    Value &part = parts[scale];
    if (!part) {
      OpBuilder builder(all.getContext());
      builder.setInsertionPointAfterValue(all);
      part = train::UnpackOp::create(builder, scale.getLoc(), scale.getType(),
                                     all, unpack.getOffsetAttr());
    }
    return part;
  }

  /// The factor for an operand without a scale.
  static Value one(OpBuilder &builder, Location loc) {
    auto type = RankedTensorType::get({}, builder.getF32Type());
    return train::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(type, 1.0f));
  }

private:
  Value inverseOf(Value value) {
    Value &inverse = inverses[value];
    if (!inverse) {
      OpBuilder builder(value.getContext());
      builder.setInsertionPointAfterValue(value);
      inverse = train::DivOp::create(builder, value.getLoc(),
                                     one(builder, value.getLoc()), value);
    }
    return inverse;
  }

  llvm::DenseMap<Value, Value> inverses, parts;
};

} // namespace

/// The ops that remove the scales from `product`, directly or after a
/// rematerialisation barrier.
static SmallVector<amp::DequantizeOp> findDequantized(Value product) {
  SmallVector<amp::DequantizeOp> found;
  for (Operation *user : product.getUsers()) {
    if (auto unscaled = dyn_cast<amp::DequantizeOp>(user))
      found.push_back(unscaled);
    // A barrier after the product carries another value.
    auto barrier = dyn_cast<train::RematBarrierOp>(user);
    if (barrier && barrier.getValue() == product)
      llvm::append_range(found, findDequantized(barrier.getResult()));
  }
  return found;
}

/// Replaces the product of FP8 operands by one that removes their scales
/// itself. mpc-verify-precision has checked that only amp.dequantize reads the
/// product.
static void takeScalesOut(train::ContractionOpInterface op, Factors &factors) {
  SmallVector<amp::DequantizeOp> dequantized =
      findDequantized(op->getResult(0));
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value lhs, rhs;
  if (dequantized.empty()) {
    lhs = rhs = Factors::one(builder, loc);
  } else {
    // Scales may have been recomputed for later ops; those of the first op
    // dominate all.
    amp::DequantizeOp first = *llvm::min_element(
        dequantized, [](amp::DequantizeOp a, amp::DequantizeOp b) {
          return a->isBeforeInBlock(b);
        });
    lhs = factors.of(first.getLhsScale());
    rhs = factors.of(first.getRhsScale());
  }
  op->getResult(0).replaceAllUsesWith(op.buildScaled(builder, lhs, rhs));
  op.erase();
  for (amp::DequantizeOp unscaled : dequantized) {
    unscaled.getResult().replaceAllUsesWith(unscaled.getInput());
    unscaled.erase();
  }
}

/// Widens the 16-bit operands and results of `op`.
static void widen(Operation *op) {
  OpBuilder builder(op);
  Type f32 = builder.getF32Type();
  for (OpOperand &operand : op->getOpOperands())
    if (isNarrow(operand.get().getType()))
      operand.set(castTo(builder, op->getLoc(), operand.get(), f32));
  builder.setInsertionPointAfter(op);
  for (OpResult result : op->getResults()) {
    if (!isNarrow(result.getType()))
      continue;
    auto narrow = cast<RankedTensorType>(result.getType());
    result.setType(narrow.clone(f32));
    auto back = amp::CastOp::create(builder, op->getLoc(), narrow, result);
    result.replaceAllUsesExcept(back, back);
  }
}

namespace {

struct LegalizeKernelTypesPass
    : mpc::impl::LegalizeKernelTypesPassBase<LegalizeKernelTypesPass> {
  using Base::Base;

  void runOnOperation() override {
    available.clear();
    StringRef(features).split(available, ',');
    SmallVector<train::KernelOpInterface> kernels;
    getOperation().walk(
        [&](train::KernelOpInterface kernel) { kernels.push_back(kernel); });
    Factors factors;
    for (train::KernelOpInterface kernel : kernels) {
      StringRef name = kernel.getKernelName();
      if (!device->computesIn(name, StringRef("tf32"), available))
        kernel->removeAttr(kTf32Attr);
      auto product = dyn_cast<train::ContractionOpInterface>(*kernel);
      if (product && amp::isFp8(product->getOperand(0).getType())) {
        if (areComputed(product.getScaledKernelName(),
                        product->getOperands())) {
          // The layout in which GPUs before Blackwell read FP8.
          OpBuilder builder(product);
          product.makeContiguousAlongSum(builder);
          takeScalesOut(product, factors);
          continue;
        }
        widenFp8(product);
      }
      if (!areComputed(name, kernel->getOperands()))
        widen(kernel);
    }
  }

private:
  /// Whether the device has the kernel for the types of all narrow operands.
  bool areComputed(StringRef kernel, ValueRange operands) const {
    return llvm::all_of(operands, [&](Value operand) {
      return !isNarrow(operand.getType()) ||
             device->computesIn(kernel, getElementTypeOrSelf(operand.getType()),
                                available);
    });
  }

  SmallVector<StringRef> available; ///< Features of the device.
};

} // namespace
