//===- WidenKernels.cpp - Types the target's kernels compute in -----------===//
//
// Implements mpc-widen-kernels from the table in kernels/catalog.def.
//
//===----------------------------------------------------------------------===//

#include "compiler/Catalog/Catalog.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "passes/Fusion/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_WIDENKERNELSPASS
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

static bool isFp8(Type type) {
  return getElementTypeOrSelf(type).getIntOrFloatBitWidth() == 8 &&
         isNarrow(type);
}

/// Gives FP8 operands the 16-bit type that holds them.
static void widenFp8(Operation *op) {
  OpBuilder builder(op);
  for (OpOperand &operand : op->getOpOperands())
    if (isFp8(operand.get().getType()))
      operand.set(
          castTo(builder, op->getLoc(), operand.get(), builder.getBF16Type()));
}

/// Lets a product of FP8 operands read both along the sum, as matrix units of
/// GPUs do before Blackwell.
static void turnOperands(train::MatmulOp op) {
  OpBuilder builder(op);
  auto turn = [&](OpOperand &operand) {
    auto type = cast<RankedTensorType>(operand.get().getType());
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    std::swap(order[order.size() - 2], order.back());
    operand.set(
        train::TransposeOp::create(builder, op.getLoc(), operand.get(), order));
  };
  if (op.getTransposeLhs())
    turn(op.getLhsMutable());
  if (!op.getTransposeRhs())
    turn(op.getRhsMutable());
  op.setTransposeLhs(false);
  op.setTransposeRhs(true);
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

struct WidenKernelsPass : mpc::impl::WidenKernelsPassBase<WidenKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<StringRef> available;
    StringRef(features).split(available, ',');
    getOperation().walk([&](train::KernelOpInterface kernel) {
      if (!kernelComputesIn(kernel.getKernelName(), nameOf(device), "tf32",
                            available))
        kernel->removeAttr(train::kTf32Attr);
      auto isComputed = [&](Value operand) {
        return !isNarrow(operand.getType()) ||
               kernelComputesIn(kernel.getKernelName(), nameOf(device),
                                getElementTypeOrSelf(operand.getType()),
                                available);
      };
      if (isFp8(kernel->getOperandTypes().front())) {
        if (llvm::all_of(kernel->getOperands(), isComputed))
          return turnOperands(cast<train::MatmulOp>(*kernel));
        widenFp8(kernel);
      }
      if (!llvm::all_of(kernel->getOperands(), isComputed))
        widen(kernel);
    });
  }
};

} // namespace
