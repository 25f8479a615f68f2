//===- AttentionBiases.h - Biases of attention ------------------*- C++ -*-===//
#ifndef MPC_PASSES_GRAPH_ATTENTIONBIASES_H
#define MPC_PASSES_GRAPH_ATTENTIONBIASES_H

#include "passes/Graph/AttentionScores.h"

#include "mlir/IR/SymbolTable.h"

namespace mpc {

/// Biases [batch or 1, heads or 1, queries or 1, keys] that are equivalent to
/// terms of scores, and whether attention is causal. Constants that change
/// nothing are left out, as are those that only hide keys after the query.
class AttentionBiases {
public:
  /// `scores` are the extents [batch, heads, queries, keys].
  AttentionBiases(llvm::ArrayRef<int64_t> scores, mlir::SymbolTable &symbols)
      : scores(scores), symbols(symbols) {}

  /// Reads the terms. Returns false if no biases are equivalent, and sets
  /// `*why` to the reason.
  bool read(llvm::ArrayRef<ScoreTerm> terms, llvm::StringRef *why);

  bool isCausal() const { return causal; }
  /// Returns true if the last bias replaces scores.
  bool isReplacing() const;

  /// Builds at most two biases of the float type `element`. Replaces the query
  /// [batch, heads, queries, depth] by zeros where all its scores are replaced
  /// by the same number: neither then depends on the other, as in the model.
  llvm::SmallVector<mlir::Value> build(mlir::RewriterBase &rewriter,
                                       mlir::Location loc,
                                       mlir::FloatType element,
                                       mlir::Value *query) const;

private:
  /// A term and its shape.
  struct Part {
    ScoreTerm term;
    llvm::SmallVector<int64_t> shape;   ///< [batch, heads, queries, keys] or 1.
    llvm::SmallVector<double> elements; ///< Empty unless a constant.
    /// The term may replace all scores of a row by a finite number. No other
    /// term hides keys.
    bool replacesRows = false;
    /// The term replaces scores by a finite number, beside others that hide
    /// keys: what is added later is added to the number.
    bool replacesScores = false;
  };

  void readTerm(const ScoreTerm &term);
  bool mayHide(const Part &part) const;
  bool seesInEveryRow(const Part &part) const;
  bool simplify(Part &part, bool isAlone, bool isReplaced);
  int64_t countElements(unsigned chosen) const;
  unsigned chooseFirst() const;
  llvm::SmallVector<mlir::Value> buildReplacing(mlir::RewriterBase &rewriter,
                                                mlir::Location loc,
                                                mlir::FloatType element) const;
  mlir::Value buildPart(mlir::RewriterBase &rewriter, mlir::Location loc,
                        mlir::FloatType element, const Part &part) const;

  llvm::SmallVector<int64_t> scores;
  mlir::SymbolTable &symbols;
  llvm::SmallVector<Part, 2> parts;
  bool causal = false;
};

} // namespace mpc

#endif // MPC_PASSES_GRAPH_ATTENTIONBIASES_H
