//===- Optimizers.h - Formulas of weight updates ----------------*- C++ -*-===//
//
// One row for each optimizer: what it is called, which options it takes, what
// these are by default, and how it is built. Everything else asks the row.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAD_OPTIMIZERS_H
#define MPC_PASSES_GRAD_OPTIMIZERS_H

#include "passes/Grad/OptimizerOptions.h"
#include "passes/Grad/Packing.h"

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

struct Optimizer {
  llvm::StringLiteral name;
  const char *takes; ///< Options it takes, with spaces between.
  OptimizerOptions defaults;
  mlir::Value (*build)(Update &update); ///< Gives the new weights.
  bool aligns = false; ///< Parameters must begin rows (`normByParameter`).

  bool takesOption(llvm::StringRef option) const;
};

llvm::ArrayRef<Optimizer> optimizers();

/// Null if there is none of that name.
const Optimizer *findOptimizer(llvm::StringRef name);

/// "sgd, momentum or adam".
std::string optimizerNames();

/// `given`, where it says nothing the default.
OptimizerOptions withDefaults(const Optimizer &optimizer,
                              OptimizerOptions given);

} // namespace mpc

#endif // MPC_PASSES_GRAD_OPTIMIZERS_H
