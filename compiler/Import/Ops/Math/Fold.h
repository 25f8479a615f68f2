//===- Fold.h - Folding of elementwise ops ----------------------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_OPS_MATH_FOLD_H
#define MPC_COMPILER_IMPORT_OPS_MATH_FOLD_H

#include "compiler/Import/Graph/ImportedNode.h"

namespace mpc {

/// How the elements of a folded constant are computed. The functions get the
/// elements of both inputs, or that of a single input twice; more inputs are
/// folded from left to right. A null function rejects elements of its type.
struct Rule {
  double (*ofFloats)(double, double);
  int64_t (*ofInts)(int64_t, int64_t); ///< Integers wrap around.
  bool takesBools = false;             ///< Bools are passed as integers.
  bool makesBools = false;
  bool divides = false; ///< Divides integers: the divisor must not be 0.
};

/// The constant inputs, broadcast to one shape; empty after an error.
llvm::SmallVector<KnownTensor> broadcastConstants(ImportedNode &node);

/// Computes the output of `node` from its constant inputs. For + - * / and the
/// square root, computing in f64 and rounding once gives the correctly rounded
/// f32.
mlir::LogicalResult foldBy(const Rule &rule, ImportedNode &node);

/// The same as a `fold` function of OpRow.
template <const Rule &rule> mlir::LogicalResult fold(ImportedNode &node) {
  return foldBy(rule, node);
}

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_OPS_MATH_FOLD_H
