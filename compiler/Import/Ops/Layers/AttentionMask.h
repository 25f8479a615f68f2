//===- AttentionMask.h - Which keys a query sees ----------------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_OPS_LAYERS_ATTENTIONMASK_H
#define MPC_COMPILER_IMPORT_OPS_LAYERS_ATTENTIONMASK_H

#include "compiler/Import/Graph/ImportedNode.h"

namespace mpc {

/// What ONNX's Attention says of it. A query at position p sees the keys
/// p - left .. p + right; the first query stands behind the `past` keys or, if
/// there are `lengths`, so that the last one sees the last key.
struct AttentionMask {
  mlir::Value
      mask; ///< A mask of bools, or of floats that are added; may be null.
  mlir::Value lengths; ///< i64 [batch], keys that are no padding; may be null.
  int64_t past = 0;
  bool causal = false;
  std::optional<int64_t> left, right;

  /// Whether attention that is causal or sees all is the same.
  bool isPlain() const {
    return !mask && !lengths && !left && !right && (!causal || past == 0);
  }
};

/// Reads it from inputs 3 and 6 and the attributes. Check the node for errors.
AttentionMask readAttentionMask(ImportedNode &node, int64_t past);

/// The scores [batch, heads, queries, keys] with what is not seen at minus
/// infinity; null after an error.
mlir::Value maskScores(ImportedNode &node, mlir::Value scores,
                       const AttentionMask &seen);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_OPS_LAYERS_ATTENTIONMASK_H
