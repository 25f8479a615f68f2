//===- Fold.h - Elementwise ops on constants --------------------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_OPS_MATH_FOLD_H
#define MPC_COMPILER_IMPORT_OPS_MATH_FOLD_H

#include "compiler/Import/Graph/ImportedNode.h"

namespace mpc {

/// What a constant's element is computed from: those of both inputs, or twice
/// that of the only one; of more inputs, each with what the others made. A null
/// function refuses such elements.
struct Rule {
  double (*ofFloats)(double, double);
  int64_t (*ofInts)(int64_t, int64_t); ///< Integers wrap around.
  bool takesBools = false;             ///< As integers.
  bool makesBools = false;
  bool divides = false; ///< An integer, by what must not be 0.
};

/// The constant inputs, broadcast to one shape; empty after an error.
llvm::SmallVector<KnownTensor> broadcastConstants(ImportedNode &node);

/// Computes the output of `node` from its constant inputs. Arithmetic in f64
/// rounded once gives for + - * / and the square root the correctly rounded
/// f32.
mlir::LogicalResult foldBy(const Rule &rule, ImportedNode &node);

/// The same as a function of OpRow.
template <const Rule &rule> mlir::LogicalResult fold(ImportedNode &node) {
  return foldBy(rule, node);
}

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_OPS_MATH_FOLD_H
