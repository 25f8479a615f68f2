//===- AttentionScores.h - Scores between product and softmax ---*- C++ -*-===//
//
// Models scale scores, cap them, add biases and masks to them, and replace
// masked ones, in any order. Attention scales first, then caps, and then adds
// biases.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAPH_ATTENTIONSCORES_H
#define MPC_PASSES_GRAPH_ATTENTIONSCORES_H

#include "passes/Graph/Match.h"

namespace mpc {

/// Something that is added to scores: a tensor, or one of two numbers by a
/// condition.
struct ScoreTerm {
  mlir::Value value; ///< Floats, or bools for a condition.
  double onTrue = 0, onFalse = 0;
  /// The number that is not 0 replaces scores instead of being added.
  bool replaces = false;
  /// What is added is multiplied by this.
  double factor = 1;
  /// The leading extents of the scores to which the term broadcasts.
  llvm::SmallVector<int64_t> leading;

  bool isCondition() const;
  /// The number for masked keys of a condition.
  double getHidden() const { return factor * std::min(onTrue, onFalse); }
};

/// A product times a number, perhaps with a soft cap, plus terms.
struct Scores {
  train::MatmulOp product;
  double scale = 1;
  double softcap = 0; ///< 0 if there is none.
  llvm::SmallVector<ScoreTerm> terms;
};

/// Walks up from the operand of a softmax to the product. Returns nothing if
/// that is not possible, and sets `*why` to the reason.
std::optional<Scores> readScores(mlir::Value scores, llvm::StringRef *why);

/// The operand of a reshape of scores or probabilities that changes the leading
/// extents only, else null.
mlir::Value beforeReshape(train::ReshapeOp op);

/// Returns true if a probability is 0 after `number` has been added to its
/// score: in f32, scores that differ by as much as 1e9 from each other have
/// no correct digits after the point, and smaller differences cannot make up
/// for the number.
inline bool hidesKey(double number) { return number <= -1e9; }

} // namespace mpc

#endif // MPC_PASSES_GRAPH_ATTENTIONSCORES_H
