//===- Fp8Layers.h - Linear layers, forward and backward --------*- C++ -*-===//
//
// What goes to FP8 goes layer by layer: the product of an activation with a
// weight, and the products that its gradients are, rest on the same three
// tensors. Here they are found, and what speaks against FP8 for each.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_ANALYSIS_PRECISION_FP8LAYERS_H
#define MPC_COMPILER_ANALYSIS_PRECISION_FP8LAYERS_H

#include "compiler/Dialect/Amp/IR/Decision.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Support/Machine.h"

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

/// What depends on the seed of a gradient.
llvm::DenseSet<mlir::Value> findGradients(mlir::func::FuncOp func);

/// True for a parameter or constant, cast or moved at most.
bool isWeight(mlir::Value value);

/// The layers of a function that trains, in order: products of a weight with
/// what is none, both in 16 bit, and those of their gradients.
llvm::SmallVector<LinearLayer>
findLinearLayers(mlir::func::FuncOp func,
                 const llvm::DenseSet<mlir::Value> &gradients);

/// Why matrix units cannot multiply the layer in FP8; nothing if they can.
std::optional<amp::Decision> whyNotFp8(const LinearLayer &layer);

/// Nanoseconds that FP8 saves a machine in the products of the layer, less what
/// it costs to round its tensors and to turn those that do not lie along the
/// sum; below zero where it would be slower.
double timeSavedByFp8(const LinearLayer &layer, const Machine &machine);

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_PRECISION_FP8LAYERS_H
