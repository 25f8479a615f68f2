//===- LossKind.cpp - Losses and their operands ---------------------------===//

#include "passes/Grad/Loss/LossKind.h"
#include "passes/Options/Loss/LossText.h"

using namespace mlir;
using namespace mpc;

/// The row of Losses.def; null for losses that only models contain.
static const LossRow *rowOf(LossKind kind) {
  auto index = static_cast<size_t>(kind);
  return index < lossRows().size() ? &lossRows()[index] : nullptr;
}

StringRef mpc::lossName(LossKind kind) {
  const LossRow *row = rowOf(kind);
  return row ? row->name : "negative-log-likelihood";
}

std::optional<LossKind> mpc::parseLossName(StringRef name) {
  for (auto [i, row] : llvm::enumerate(lossRows()))
    if (row.name == name)
      return static_cast<LossKind>(i);
  return std::nullopt;
}

bool mpc::takesLabels(LossKind kind) {
  const LossRow *row = rowOf(kind);
  return !row || row->target == LossTarget::Labels;
}

bool mpc::takesInput(LossKind kind) {
  const LossRow *row = rowOf(kind);
  return !row || row->target != LossTarget::Nothing;
}

bool mpc::hasClassAxis(LossKind kind) {
  return takesLabels(kind) || kind == LossKind::KullbackLeibler;
}

static LossKind kindOf(train::LossKind kind) {
  switch (kind) {
  case train::LossKind::CrossEntropy:
    return LossKind::CrossEntropy;
  case train::LossKind::NegativeLogLikelihood:
    return LossKind::NegativeLogLikelihood;
  case train::LossKind::MeanSquaredError:
    return LossKind::MeanSquaredError;
  case train::LossKind::MeanAbsoluteError:
    return LossKind::MeanAbsoluteError;
  case train::LossKind::BinaryCrossEntropyWithLogits:
    return LossKind::BinaryCrossEntropyWithLogits;
  }
  llvm_unreachable("all losses handled");
}

std::optional<Loss> mpc::findLoss(Value value) {
  auto op = skipIdentities(value).getDefiningOp<train::LossOpInterface>();
  if (!op)
    return std::nullopt;
  return Loss{kindOf(op.getLossKind()), op.getPrediction(),
              op.getTarget(),           op.getClassWeights(),
              op.getIgnoredLabel(),     op.getReduction()};
}
