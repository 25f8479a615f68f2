//===- Fp8Layers.h - Linear layers, forward and backward --------*- C++ -*-===//
//
// FP8 is chosen per linear layer: the product of an activation with a weight
// and the products of its gradients share the same three tensors. This finds
// the layers, and for each the reasons against FP8.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_ANALYSIS_PRECISION_FP8LAYERS_H
#define MPC_COMPILER_ANALYSIS_PRECISION_FP8LAYERS_H

#include "compiler/Dialect/Amp/IR/Decision.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Support/Machine/Machine.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

#include <string>

namespace mpc {

struct LinearLayer {
  std::string name; ///< The name of its ONNX node.
  train::ContractionOpInterface forward;
  llvm::SmallVector<train::ContractionOpInterface> backward;

  llvm::SmallVector<train::ContractionOpInterface> products() const;
};

/// The values that depend on the seed of the backward pass.
llvm::DenseSet<mlir::Value> findGradients(mlir::func::FuncOp func);

/// True for a parameter or constant, possibly cast or moved.
bool isWeight(mlir::Value value);

/// The linear layers of a training function, in order: 16-bit products of a
/// weight with another tensor, and the products of their gradients.
llvm::SmallVector<LinearLayer>
findLinearLayers(mlir::func::FuncOp func,
                 const llvm::DenseSet<mlir::Value> &gradients);

/// Returns why matrix units cannot multiply the layer in FP8; nothing if they
/// can.
std::optional<amp::Decision> whyNotFp8(const LinearLayer &layer);

/// Nanoseconds that FP8 saves in the products of the layer, minus the time to
/// round its tensors and to transpose those that are not contiguous along the
/// sum; negative if FP8 would be slower.
double timeSavedByFp8(const LinearLayer &layer, const Machine &machine);

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_PRECISION_FP8LAYERS_H
