//===- IndexGroups.h - Which updates can name a row -------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_OPS_INDEXING_INDEXGROUPS_H
#define MPC_COMPILER_DIALECT_TRAIN_OPS_INDEXING_INDEXGROUPS_H

#include "compiler/Dialect/Train/IR/Infer.h"

namespace mpc::train {

class ElementBody;

/// Rows and the flat indices that name them as [groups, extent, lanes] and
/// [groups, count, lanes]: an index names a row of its own group and lane. That
/// is how elements are gathered along one axis, and a row then has to look at
/// `count` indices only. With one group and one lane it looks at all of them.
struct IndexGroups {
  int64_t groups = 1, lanes = 1;

  /// The groups of an op with these attributes, or of its adaptor.
  template <typename Op> static IndexGroups from(Op op) {
    return {int64_t(op.getGroups()), int64_t(op.getLanes())};
  }

  /// The groups of the result of a flat_index, perhaps reshaped since.
  static IndexGroups of(mlir::Value flatIndices);

  /// Checks that `rows` rows and `indices` indices can be divided.
  mlir::LogicalResult verify(int64_t rows, int64_t indices,
                             const OpError &error) const;

  /// How many of `indices` indices a row has to look at.
  int64_t countOf(int64_t indices) const { return indices / (groups * lanes); }
  /// Whether rows look at so few indices that generated code, which can be
  /// fused, should sum up updates; a kernel sorts more of them.
  bool areFew(int64_t indices) const {
    return groups * lanes > 1 && countOf(indices) <= 64;
  }

  /// The `turn`-th of `count` indices that can name row `row` of `rows`.
  mlir::Value indexAt(ElementBody &body, mlir::Value row, int64_t rows,
                      mlir::Value turn, int64_t count) const;
};

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_OPS_INDEXING_INDEXGROUPS_H
