//===- AttentionMask.h - Which keys a query attends to ----------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_OPS_LAYERS_ATTENTIONMASK_H
#define MPC_COMPILER_IMPORT_OPS_LAYERS_ATTENTIONMASK_H

#include "compiler/Import/Graph/ImportedNode.h"

namespace mpc {

/// The mask of ONNX's Attention. A query at position p sees the keys p - left
/// .. p + right. The first query comes after `past` keys or, with `lengths`,
/// has the position for which the last query sees the last key.
struct AttentionMask {
  mlir::Value
      mask; ///< A mask of bools, or of floats that are added; may be null.
  mlir::Value lengths; ///< i64 [batch], keys without padding; may be null.
  int64_t past = 0;
  bool causal = false;
  std::optional<int64_t> left, right;
};

/// Reads the mask from inputs 3 and 6 and the attributes. The caller must check
/// the node for errors.
AttentionMask readAttentionMask(ImportedNode &node, int64_t past);

/// The scores [batch, heads, queries, keys] with minus infinity for masked
/// keys; null after an error.
mlir::Value maskScores(ImportedNode &node, mlir::Value scores,
                       const AttentionMask &seen);

/// Masks as operands of train.attention.
struct AttentionBiases {
  llvm::SmallVector<mlir::Value> biases;
  bool isCausal = false;
};

/// The biases that have the effect of the masks on scores of `shape` [batch,
/// heads, queries, keys]. The caller must check the node for errors.
AttentionBiases maskBiases(ImportedNode &node, llvm::ArrayRef<int64_t> shape,
                           const AttentionMask &seen);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_OPS_LAYERS_ATTENTIONMASK_H
