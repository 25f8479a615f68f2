//===- ChooseLoss.h - Choose the loss of a model ----------------*- C++ -*-===//
#ifndef MPC_PASSES_GRAD_LOSS_CHOOSELOSS_H
#define MPC_PASSES_GRAD_LOSS_CHOOSELOSS_H

#include "passes/Grad/Loss/LossKind.h"
#include "passes/Grad/Loss/LossShapes.h"
#include "passes/Options/Options.h"

#include <optional>
#include <string>

namespace mpc {

/// One loss that is minimized, and its description.
struct LossChoice {
  unsigned output = 0;
  llvm::SmallVector<unsigned, 2> others; ///< For losses of several outputs.
  bool inGraph = false; ///< The output is the loss, not the prediction.
  LossKind kind = LossKind::MeanSquaredError;
  ClassAxis classes;   ///< For a loss with a class axis.
  std::string target;  ///< The input it compares the output with; may be "".
  double share = 1;    ///< The factor of this loss in the sum of all.
  LossOptions options; ///< Weights of classes and the like.
  std::string text;    ///< For `mpc.loss`.
  std::string why;     ///< For `mpc.notes`.

  /// True if an input for labels is added.
  bool takesLabels() const { return !inGraph && mpc::takesLabels(kind); }
  bool hasClassAxis() const { return !inGraph && mpc::hasClassAxis(kind); }
};

/// The losses whose sum is minimized, and their description.
struct LossSum {
  llvm::SmallVector<LossChoice, 1> terms;
  std::string sampleWeights; ///< The input of sample weights; "" if none.
  std::string text;          ///< For `mpc.loss`.
  std::string why;           ///< For `mpc.notes`.

  /// Whether the loss is that of one output, or one of the model, alone.
  bool isSingle() const { return terms.size() == 1 && terms[0].share == 1; }
};

/// The losses that `options` request (output:NAME, or a sum of KIND:NAME), or,
/// if they request none, the one that the outputs of `predict` suggest. Fails,
/// after a diagnostic, if there is no such loss, or if an option does not apply
/// to it.
mlir::FailureOr<LossSum> chooseLoss(mlir::func::FuncOp predict,
                                    const LossOptions &options);

/// The option of `options` that changes a loss and is not the default; "" if
/// all are. Losses of the model itself take none of them.
std::string findLossOption(const LossOptions &options);

/// The prediction that a loss of this kind takes: the output, or the operand of
/// the softmax (for bce: sigmoid) that computes it.
mlir::Value findPrediction(mlir::Value output, const LossChoice &choice);

} // namespace mpc

#endif // MPC_PASSES_GRAD_LOSS_CHOOSELOSS_H
