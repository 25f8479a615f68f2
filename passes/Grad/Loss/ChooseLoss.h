//===- ChooseLoss.h - Choose the loss of a model ----------------*- C++ -*-===//
#ifndef MPC_PASSES_GRAD_LOSS_CHOOSELOSS_H
#define MPC_PASSES_GRAD_LOSS_CHOOSELOSS_H

#include "passes/Grad/Loss/LossShapes.h"

#include <optional>
#include <string>

namespace mpc {

using train::LossKind;

/// Whether a loss of this kind compares class scores with labels.
bool takesLabels(LossKind kind);

/// A loss and its operands.
struct Loss {
  LossKind kind;
  mlir::Value prediction = nullptr;
  mlir::Value target = nullptr;
  mlir::Value weight = nullptr;             ///< Class weights; may be null.
  mlir::IntegerAttr ignoredLabel = nullptr; ///< May be null.
  train::LossReduction reduction = train::LossReduction::Mean;

  bool isClassification() const { return mpc::takesLabels(kind); }

  /// For a loss in the model's graph: whether it is not reduced, and the mean
  /// of its elements differs from the weighted mean over labels because of
  /// class weights or an ignored label.
  bool isMeanOfElements() const {
    return isClassification() && reduction == train::LossReduction::None &&
           (weight || ignoredLabel);
  }
};

/// The loss that is minimized, and its description.
struct LossChoice {
  unsigned output = 0;
  bool inGraph = false; ///< The output is the loss, not the prediction.
  LossKind kind = LossKind::MeanSquaredError;
  ClassAxis classes; ///< For a classification loss of an output.
  std::string text;  ///< For `mpc.loss`.
  std::string why;   ///< For `mpc.notes`.

  /// True if an input for labels is added.
  bool takesLabels() const { return !inGraph && mpc::takesLabels(kind); }
};

/// The loss op that computes `value`, looking through reshapes.
std::optional<Loss> findLoss(mlir::Value value);

/// "softmax-cross-entropy", "mse".
llvm::StringRef lossName(LossKind kind);

/// An unused name for the input that the loss compares with: "labels" or
/// "targets".
std::string targetName(mlir::func::FuncOp func, bool isClassification);

/// The loss that `option` requests (output:NAME, KIND or KIND:NAME), or, if it
/// is empty, the one that the outputs of `predict` suggest. `labelAxis` is the
/// dimension of classes, 0 if not given. Fails, after a diagnostic, if there is
/// no such loss.
mlir::FailureOr<LossChoice> chooseLoss(mlir::func::FuncOp predict,
                                       llvm::StringRef option,
                                       int64_t labelAxis);

/// The prediction that a loss of this kind takes: the output, or the operand of
/// the softmax (for bce: sigmoid) that computes it.
mlir::Value findPrediction(mlir::Value output, const LossChoice &choice);

} // namespace mpc

#endif // MPC_PASSES_GRAD_LOSS_CHOOSELOSS_H
