//===- VerifyFp8.cpp - Verify uses of FP8 ---------------------------------===//

#include "passes/Precision/Fp8/VerifyFp8.h"

#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Dialect/Train/IR/Views.h"
#include "passes/Precision/HoistWeightQuantization.h"

using namespace mlir;
using namespace mpc;

/// Whether `op` is a product of 8-bit operands.
static bool multipliesFp8(Operation *op) {
  return isa_and_present<train::ContractionOpInterface>(op) &&
         amp::isFp8(op->getOperand(0).getType());
}

/// The pass that should have prevented these faults.
static constexpr llvm::StringLiteral kFp8Pass = "mpc-use-fp8";

/// The scale with which `value` was rounded, here or in @derive; null if it was
/// not.
static Value scaleOf(Value value) {
  while (train::rearranges(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  value = derivedFrom(value);
  auto quantize =
      value ? value.getDefiningOp<amp::QuantizeOp>() : amp::QuantizeOp();
  return quantize ? quantize.getScale() : Value();
}

static LogicalResult verifyProduct(Operation *op) {
  Value lhs = scaleOf(op->getOperand(0)), rhs = scaleOf(op->getOperand(1));
  if (!lhs || !rhs)
    return nameResponsiblePass(
        op->emitOpError(
            "must multiply only 8-bit tensors that were rounded with a scale"),
        op, kFp8Pass);
  for (Operation *user : op->getUsers()) {
    auto unscaled = dyn_cast<amp::DequantizeOp>(user);
    if (unscaled && derivedFrom(unscaled.getLhsScale()) == lhs &&
        derivedFrom(unscaled.getRhsScale()) == rhs)
      continue;
    InFlightDiagnostic error =
        op->emitOpError("must first be divided by the scales of its operands");
    error.attachNote(user->getLoc()) << "read here";
    return nameResponsiblePass(std::move(error), op, kFp8Pass);
  }
  return success();
}

LogicalResult mpc::verifyFp8(Operation *op) {
  if (multipliesFp8(op))
    return verifyProduct(op);
  auto unscaled = dyn_cast<amp::DequantizeOp>(op);
  if (unscaled && !multipliesFp8(unscaled.getInput().getDefiningOp()))
    return nameResponsiblePass(op->emitOpError("must follow an 8-bit product"),
                               op, kFp8Pass);
  // States may hold 8-bit values, too.
  if (op->hasTrait<train::AccessesStates>())
    return success();
  bool rounds = isa<amp::QuantizeOp>(op), moves = train::rearranges(op);
  if (!rounds && !moves && llvm::any_of(op->getOperandTypes(), amp::isFp8))
    return nameResponsiblePass(
        op->emitOpError("must not read 8-bit operands: only products do"), op,
        kFp8Pass);
  if (!rounds && !moves && llvm::any_of(op->getResultTypes(), amp::isFp8))
    return nameResponsiblePass(
        op->emitOpError("must not have an 8-bit result: only amp.quantize has"),
        op, kFp8Pass);
  return success();
}
