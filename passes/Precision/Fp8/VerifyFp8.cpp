//===- VerifyFp8.cpp - Scales go in and come out --------------------------===//

#include "passes/Precision/Fp8/VerifyFp8.h"

#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "passes/Precision/HoistWeightQuantization.h"

using namespace mlir;
using namespace mpc;

static bool isFp8(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(getElementTypeOrSelf(type));
}

static bool isMove(Operation *op) {
  return isa_and_nonnull<train::ReshapeOp, train::TransposeOp>(op);
}

/// Puts 8 bit into a state, or takes it out.
static bool isStorage(Operation *op) {
  return isa<train::PackOp, train::WriteOp, train::ReadOp, train::UnpackOp>(op);
}

/// What has to see to it.
static constexpr llvm::StringLiteral kFp8Pass = "mpc-use-fp8";

/// The scale with which `value` was rounded, here or in @derive; null if it was
/// not.
static Value scaleOf(Value value) {
  while (isMove(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  value = derivedFrom(value);
  auto quantize =
      value ? value.getDefiningOp<amp::QuantizeOp>() : amp::QuantizeOp();
  return quantize ? quantize.getScale() : Value();
}

static LogicalResult verifyProduct(train::MatmulOp op) {
  Value lhs = scaleOf(op.getLhs()), rhs = scaleOf(op.getRhs());
  if (!lhs || !rhs)
    return blame(op.emitOpError("multiplies a tensor of 8 bit that was not "
                                "rounded with a scale"),
                 op, kFp8Pass);
  for (Operation *user : op->getUsers()) {
    auto unscaled = dyn_cast<amp::DequantizeOp>(user);
    if (unscaled && derivedFrom(unscaled.getLhsScale()) == lhs &&
        derivedFrom(unscaled.getRhsScale()) == rhs)
      continue;
    InFlightDiagnostic error =
        op.emitOpError("must give up the scales of its operands first");
    error.attachNote(user->getLoc()) << "read here";
    return blame(std::move(error), op, kFp8Pass);
  }
  return success();
}

LogicalResult mpc::verifyFp8(Operation *op) {
  auto product = dyn_cast<train::MatmulOp>(op);
  if (product && isFp8(product.getLhs().getType()))
    return verifyProduct(product);
  if (auto unscaled = dyn_cast<amp::DequantizeOp>(op)) {
    auto input = unscaled.getInput().getDefiningOp<train::MatmulOp>();
    if (!input || !isFp8(input.getLhs().getType()))
      return blame(op->emitOpError("must follow a product of 8 bit"), op,
                   kFp8Pass);
  }
  bool rounds = isa<amp::QuantizeOp>(op);
  if (isStorage(op))
    return success();
  if (!rounds && !isMove(op) && llvm::any_of(op->getOperandTypes(), isFp8))
    return blame(op->emitOpError("must not read 8 bit: products alone do"), op,
                 kFp8Pass);
  if (!rounds && !isMove(op) && llvm::any_of(op->getResultTypes(), isFp8))
    return blame(
        op->emitOpError("must not make 8 bit: amp.quantize alone does"), op,
        kFp8Pass);
  return success();
}
