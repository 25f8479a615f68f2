//===- Optimizers.h - Formulas of weight updates ----------------*- C++ -*-===//
//
// The interface between formulas (Optimizers.cpp) and the pass that uses them.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAD_UPDATE_OPTIMIZERS_H
#define MPC_PASSES_GRAD_UPDATE_OPTIMIZERS_H

#include "passes/Grad/Update/Packing.h"
#include "passes/Options/OptimizerRows.h"

#include "mlir/IR/Builders.h"

#include <string>

namespace mpc {

/// A state that a formula keeps between updates.
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
  OptimizerOptions options; ///< With defaults filled in.
  mlir::Value weights, gradients;
  mlir::Value rate;  ///< Rank 0, or [rows, 1] if groups differ.
  mlir::Value decay; ///< [rows, 1] if groups differ; else null.
  mlir::Value step;  ///< i64: number of updates before this one.

  /// Reads a state that is a pack; it starts as zeros.
  virtual mlir::Value readPack(const OptimizerState &state) = 0;
  /// Reads a state that is a number, of rank 0.
  virtual mlir::Value readNumber(const OptimizerState &state, double start) = 0;
  /// Writes the next value of a state that was read.
  virtual void write(const OptimizerState &state, mlir::Value value) = 0;
  /// The norm of each parameter's part of a pack, repeated in each of its rows:
  /// [rows, 1].
  virtual mlir::Value normByParameter(mlir::Value pack) = 0;

protected:
  Update(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}
};

/// A row of Optimizers.def; which options it takes is in OptimizerRows.h.
struct Optimizer {
  llvm::StringLiteral name;
  mlir::Value (*build)(Update &update); ///< Returns the new weights.
  bool needsRowAlignment;               ///< Each parameter must begin a row
                                        ///< (`normByParameter`).
};

/// Returns null if there is no optimizer of that name.
const Optimizer *findOptimizer(llvm::StringRef name);

} // namespace mpc

#endif // MPC_PASSES_GRAD_UPDATE_OPTIMIZERS_H
