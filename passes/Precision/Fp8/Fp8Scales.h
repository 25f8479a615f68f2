//===- Fp8Scales.h - States that scale tensors of 8 bit ---------*- C++ -*-===//
//
// Delayed scaling: a tensor is rounded with a scale that its largest magnitudes
// of the last steps give, so that it is read once. One state holds the scales
// of all tensors, another their magnitudes; both move with the update alone.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_PRECISION_FP8_FP8SCALES_H
#define MPC_PASSES_PRECISION_FP8_FP8SCALES_H

#include "compiler/Dialect/Train/IR/Program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpc {

/// The largest number of a format times 2^-margin.
double largestOf(mlir::FloatType format, int64_t margin);

/// A tensor that is rounded with a scale of the history.
struct ScaledTensor {
  mlir::Value value;
  mlir::FloatType format;
  double firstScale; ///< Until the first update.
};

class DelayedScales {
public:
  /// `history` is how many updates count.
  DelayedScales(mlir::ModuleOp module, llvm::ArrayRef<ScaledTensor> tensors,
                int64_t history, int64_t margin)
      : module(module), tensors(tensors), history(history), margin(margin) {}

  /// Makes the states. Fails, with a diagnostic, if a name is taken.
  void createStates();

  /// Reads the scale of each tensor, at the entry of `func`.
  llvm::SmallVector<mlir::Value> readScales(mlir::func::FuncOp func);

  /// Lets `func`, which has the tensors, keep their largest magnitudes, and
  /// `update`, the same function or the one that applies what micro-batches
  /// gave, advance the scales.
  void advance(mlir::func::FuncOp func, mlir::func::FuncOp update);

private:
  mlir::Value packMagnitudes(mlir::func::FuncOp func);
  void advanceWith(mlir::Value magnitudes, mlir::func::FuncOp update);
  mlir::RankedTensorType laneType();

  mlir::ModuleOp module;
  llvm::ArrayRef<ScaledTensor> tensors;
  int64_t history, margin;
  train::StateOp scales, magnitudes; ///< The states, once created.
};

} // namespace mpc

#endif // MPC_PASSES_PRECISION_FP8_FP8SCALES_H
