//===- ChooseLoss.h - Which loss a model is trained on ----------*- C++ -*-===//
#ifndef MPC_PASSES_GRAD_LOSS_CHOOSELOSS_H
#define MPC_PASSES_GRAD_LOSS_CHOOSELOSS_H

#include "passes/Grad/Loss/LossShapes.h"

#include <optional>
#include <string>

namespace mpc {

using train::LossKind;

/// Whether a loss of this kind compares classes with labels.
bool takesLabels(LossKind kind);

/// A loss and what it compares.
struct Loss {
  LossKind kind;
  mlir::Value prediction = nullptr;
  mlir::Value target = nullptr;
  mlir::Value weight = nullptr;             ///< Class weights; may be null.
  mlir::IntegerAttr ignoredLabel = nullptr; ///< May be null.
  train::LossReduction reduction = train::LossReduction::Mean;

  bool isClassification() const { return mpc::takesLabels(kind); }

  /// For a loss in the model's graph: whether its elements stay apart and their
  /// mean is not that of the labels, some of which count more or not at all.
  bool isMeanOfElements() const {
    return isClassification() && reduction == train::LossReduction::None &&
           (weight || ignoredLabel);
  }
};

/// What is minimized, and its description.
struct LossChoice {
  unsigned output = 0;
  bool inGraph = false; ///< The output is the loss, not what it is taken of.
  LossKind kind = LossKind::MeanSquaredError;
  ClassAxis classes; ///< For a loss of classes that is taken of an output.
  std::string text;  ///< For `mpc.loss`.
  std::string why;   ///< For `mpc.notes`.

  /// True if labels become an input of their own.
  bool takesLabels() const { return !inGraph && mpc::takesLabels(kind); }
};

/// The loss op that `value` is the result of, up to its shape.
std::optional<Loss> findLoss(mlir::Value value);

/// "softmax-cross-entropy", "mse".
llvm::StringRef lossName(LossKind kind);

/// A name for the input that the loss compares with, which none has yet:
/// "labels" or "targets".
std::string targetName(mlir::func::FuncOp func, bool isClassification);

/// The loss that `option` asks for (output:NAME, KIND or KIND:NAME), or that
/// the outputs of `predict` suggest where it is empty; `labelAxis` is the
/// dimension of classes, 0 if nobody says. Fails, after a diagnostic, if there
/// is no such loss.
mlir::FailureOr<LossChoice> chooseLoss(mlir::func::FuncOp predict,
                                       llvm::StringRef option,
                                       int64_t labelAxis);

/// The prediction that a loss of this kind is taken of: at an output behind a
/// softmax (for bce: a sigmoid), what goes into it.
mlir::Value findPrediction(mlir::Value output, const LossChoice &choice);

} // namespace mpc

#endif // MPC_PASSES_GRAD_LOSS_CHOOSELOSS_H
