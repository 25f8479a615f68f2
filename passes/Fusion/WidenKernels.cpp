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
      for (Value operand : kernel->getOperands())
        if (isNarrow(operand.getType()) &&
            !kernelComputesIn(kernel.getKernelName(), nameOf(device),
                              getElementTypeOrSelf(operand.getType()),
                              available))
          return widen(kernel);
    });
  }
};

} // namespace
