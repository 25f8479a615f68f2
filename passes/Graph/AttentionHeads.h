//===- AttentionHeads.h - Factors of attention's products -------*- C++ -*-===//
//
// Models reshape, transpose, scale and repeat queries, keys and values until
// they fit a product. Attention needs what they had before.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAPH_ATTENTIONHEADS_H
#define MPC_PASSES_GRAPH_ATTENTIONHEADS_H

#include "passes/Graph/Match.h"

namespace mpc {

/// If `value` is a tensor times a number, returns the tensor and sets `*factor`
/// to the number; else returns null.
mlir::Value multipleOf(mlir::Value value, double *factor);

/// A factor of a product as rows [.., heads, length, depth].
class Rows {
public:
  /// Looks through the ops that compute `factor`. With `exchange` the factor
  /// has rows and columns exchanged. Multiplies `*scale` by constant factors,
  /// if it is not null. With `mayRepeat`, also looks through a repetition of
  /// heads, and `scores`, the leading extents of the product, may be longer
  /// than those of the factor: then the product repeats its heads.
  static Rows of(mlir::Value factor, bool exchange, double *scale,
                 bool mayRepeat, llvm::ArrayRef<int64_t> scores);

  /// The number of consecutive heads of the scores that use one head.
  int64_t getRepeats() const { return repeats; }
  /// The product of the leading extents.
  int64_t countHeads() const;
  /// The value as [batch, heads, length, depth], where `countHeads()` is batch
  /// x heads.
  mlir::Value build(mlir::RewriterBase &rewriter, mlir::Location loc,
                    int64_t batch) const;

private:
  void lookThrough(double *scale, bool mayRepeat);
  llvm::SmallVector<int64_t> shape() const;

  mlir::Value value;
  /// The dimensions of `value` in the order of the rows; the identity unless
  /// rows and columns are exchanged or heads are not leading.
  llvm::SmallVector<int64_t> permutation;
  int64_t repeats = 1;
};

} // namespace mpc

#endif // MPC_PASSES_GRAPH_ATTENTIONHEADS_H
