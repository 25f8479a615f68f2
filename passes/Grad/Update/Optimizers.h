//===- Optimizers.h - Formulas of weight updates ----------------*- C++ -*-===//
//
// How the rows of Optimizers.def are built.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAD_UPDATE_OPTIMIZERS_H
#define MPC_PASSES_GRAD_UPDATE_OPTIMIZERS_H

#include "passes/Grad/Update/Packing.h"
#include "passes/Options/OptimizerRows.h"

#include "mlir/IR/Builders.h"

#include <string>

namespace mpc {

/// What a formula keeps between updates.
struct OptimizerState {
  train::StateRole role;
  llvm::StringLiteral name; ///< In packages and checkpoints.
};

/// One update of all parameters. Packs are [rows, 1024].
class Update {
public:
  virtual ~Update() = default;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  OptimizerOptions options; ///< All of them known.
  mlir::Value weights, gradients;
  mlir::Value rate;  ///< Rank 0, or [rows, 1] where groups differ.
  mlir::Value decay; ///< [rows, 1] where groups differ; else null.
  mlir::Value step;  ///< i64: updates before this one.

  /// A pack that starts as zeros.
  virtual mlir::Value readPack(const OptimizerState &state) = 0;
  /// A number, of rank 0.
  virtual mlir::Value readNumber(const OptimizerState &state, double start) = 0;
  /// Gives a state that was read its next value.
  virtual void write(const OptimizerState &state, mlir::Value value) = 0;
  /// For a pack: the norm of each parameter, in each of its rows: [rows, 1].
  virtual mlir::Value normByParameter(mlir::Value pack) = 0;

protected:
  Update(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}
};

/// A row of Optimizers.def; which options it takes is in OptimizerRows.h.
struct Optimizer {
  llvm::StringLiteral name;
  mlir::Value (*build)(Update &update); ///< Gives the new weights.
  bool aligns; ///< Parameters must begin rows (`normByParameter`).
};

/// Null if there is none of that name.
const Optimizer *findOptimizer(llvm::StringRef name);

} // namespace mpc

#endif // MPC_PASSES_GRAD_UPDATE_OPTIMIZERS_H
