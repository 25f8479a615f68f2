//===- LossKind.h - Losses and their operands -------------------*- C++ -*-===//
#ifndef MPC_PASSES_GRAD_LOSS_LOSSKIND_H
#define MPC_PASSES_GRAD_LOSS_LOSSKIND_H

#include "passes/Grad/EntryPoints.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mpc {

/// The losses of Losses.def, and those that only models contain.
enum class LossKind {
#define MPC_LOSS(KIND, ...) KIND,
#include "passes/Options/Loss/Losses.def"
  NegativeLogLikelihood, ///< Logarithms of probabilities with labels.
};

/// "softmax-cross-entropy", "mse".
llvm::StringRef lossName(LossKind kind);

/// The loss with this name, among those that can be applied to an output.
std::optional<LossKind> parseLossName(llvm::StringRef name);

/// Whether a loss of this kind compares class scores with labels.
bool takesLabels(LossKind kind);

/// Whether a loss of this kind compares outputs with an input, not only with
/// each other.
bool takesInput(LossKind kind);

/// Whether a loss of this kind reads the output as scores of classes.
bool hasClassAxis(LossKind kind);

/// A loss and its operands.
struct Loss {
  LossKind kind;
  mlir::Value prediction = nullptr;
  mlir::Value target = nullptr; ///< Null if it compares outputs only.
  mlir::Value weight = nullptr; ///< Class weights; may be null.
  mlir::IntegerAttr ignoredLabel = nullptr; ///< May be null.
  train::LossReduction reduction = train::LossReduction::Mean;
  mlir::Value sampleWeights = nullptr;           ///< [samples]; may be null.
  mlir::Value posWeight = nullptr;               ///< [columns]; may be null.
  llvm::SmallVector<mlir::Value, 2> others = {}; ///< The other outputs.
  int64_t classAxis = 1;            ///< The class axis of `prediction`.
  double smoothing = 0;             ///< Share of labels that is spread.
  double margin = 1;                ///< For triplet.
  double delta = 1;                 ///< For huber and smooth-l1.
  double gamma = 2;                 ///< For the focal losses.
  std::optional<double> alpha = {}; ///< For the sigmoid focal loss.

  bool isClassification() const { return mpc::takesLabels(kind); }

  /// For a loss in the model's graph: whether it is not reduced, and the mean
  /// of its elements differs from the weighted mean over labels because of
  /// class weights or an ignored label.
  bool isMeanOfElements() const {
    return isClassification() && reduction == train::LossReduction::None &&
           (weight || ignoredLabel);
  }
};

/// The loss op that computes `value`, looking through reshapes.
std::optional<Loss> findLoss(mlir::Value value);

} // namespace mpc

#endif // MPC_PASSES_GRAD_LOSS_LOSSKIND_H
