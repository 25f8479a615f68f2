//===- OpCost.cpp - Operations and memory traffic of an op ----------------===//

#include "compiler/Analysis/Precision/OpCost.h"

#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Dialect/Train/IR/Views.h"

using namespace mlir;
using namespace mpc;

OpCost &OpCost::operator+=(const OpCost &other) {
  flops += other.flops, lowFlops += other.lowFlops;
  fp8Flops += other.fp8Flops, tf32Flops += other.tf32Flops;
  bytes += other.bytes, lowBytes += other.lowBytes;
  return *this;
}

void OpCost::addTo(llvm::json::Object &object) const {
  object["flops"] = flops;
  object["flops_16bit"] = lowFlops;
  // Only programs with such operations have these fields.
  if (fp8Flops > 0)
    object["flops_8bit"] = fp8Flops;
  if (tf32Flops > 0)
    object["flops_tf32"] = tf32Flops;
  object["bytes"] = bytes;
  object["bytes_16bit"] = lowBytes;
}

FloatType mpc::operandType(Operation *op) {
  auto precision = dyn_cast<amp::PrecisionOpInterface>(op);
  FloatType pinned;
  for (OpOperand &use : op->getOpOperands()) {
    FloatType type = getFloatElementType(use.get().getType());
    if (!type)
      continue;
    if (!precision || !precision.isOperandPinned(use.getOperandNumber()))
      return type;
    if (!pinned)
      pinned = type;
  }
  return pinned;
}

OpCost mpc::costOf(Operation *op) {
  OpCost cost;
  auto counted = dyn_cast<train::CostOpInterface>(op);
  if (!counted || train::isView(op))
    return cost;
  auto add = [&](Type type, int64_t elements) {
    FloatType element = getFloatElementType(type);
    int64_t bytes = element ? elements * element.getWidth() / 8 : 0;
    cost.bytes += bytes;
    if (element && element.getWidth() <= 16)
      cost.lowBytes += bytes;
  };
  for (OpOperand &use : op->getOpOperands())
    add(use.get().getType(), counted.countReads(use.getOperandNumber()));
  for (Type type : op->getResultTypes())
    add(type, cast<ShapedType>(type).getNumElements());

  cost.flops = counted.getFlops();
  FloatType type = isLowOp(op) ? operandType(op) : nullptr;
  if (type && type.getWidth() <= 16)
    cost.lowFlops = cost.flops;
  if (type && type.getWidth() == 8)
    cost.fp8Flops = cost.flops;
  if (op->hasAttr(kTf32Attr))
    cost.tf32Flops = cost.flops;
  return cost;
}
