//===- Fp8Scales.h - States for delayed FP8 scaling -------------*- C++ -*-===//
//
// Delayed scaling: a tensor is rounded with a scale computed from its largest
// magnitudes in the last steps, so that it is read only once. One state holds
// the scales of all tensors, another their magnitudes; both change only with an
// update.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_PRECISION_FP8_FP8SCALES_H
#define MPC_PASSES_PRECISION_FP8_FP8SCALES_H

#include "compiler/Dialect/Train/IR/Program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpc {

/// The largest number of a format times 2^-margin.
double largestOf(mlir::FloatType format, int64_t margin);

/// A tensor that is rounded with a delayed scale.
struct ScaledTensor {
  mlir::Value value;
  mlir::FloatType format;
  double firstScale; ///< Until the first update.
};

class DelayedScales {
public:
  /// `history` is the number of past updates considered.
  DelayedScales(mlir::ModuleOp module, llvm::ArrayRef<ScaledTensor> tensors,
                int64_t history, int64_t margin)
      : module(module), tensors(tensors), history(history), margin(margin) {}

  /// Creates the states.
  void createStates();

  /// Reads the scale of each tensor, at the entry of `func`.
  llvm::SmallVector<mlir::Value> readScales(mlir::func::FuncOp func);

  /// Makes `func`, which computes the tensors, record their largest magnitudes,
  /// and makes `update` advance the scales. `update` is the same function, or
  /// with micro-batches the one that applies their sum.
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
