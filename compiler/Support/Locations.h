//===- Locations.h - Locations of ONNX nodes --------------------*- C++ -*-===//
#ifndef MPC_COMPILER_SUPPORT_LOCATIONS_H
#define MPC_COMPILER_SUPPORT_LOCATIONS_H

#include "compiler/Attributes/Attributes.h"

#include "mlir/IR/Location.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpc {

// The suffix of names of gradient ops. The optimizer and the loss are not nodes
// of the model, but have these names.
inline constexpr llvm::StringLiteral kGradientSuffix = ".grad";
inline constexpr llvm::StringLiteral kOptimizerNode = "optimizer";
inline constexpr llvm::StringLiteral kLossNode = "loss";

/// The location of an ONNX node: its name (or, if it has none, the name of its
/// first output) around its op type.
mlir::Location makeNodeLoc(mlir::MLIRContext *context, llvm::StringRef name,
                           llvm::StringRef type);

/// Name and op type of the ONNX node an op comes from; empty if it comes from
/// none. For a fused location, the first name counts.
llvm::StringRef nodeName(mlir::Location loc);

llvm::StringRef nodeType(mlir::Location loc);

/// Calls `visit` with the name and op type of each node that an op comes from,
/// including all nodes of a fused location.
void visitNodes(
    mlir::Location loc,
    llvm::function_ref<void(llvm::StringRef name, llvm::StringRef type)> visit);

/// The location of the ops that compute the gradient of the op at `loc`: the
/// same nodes, with ".grad" appended to their names.
mlir::Location gradientLoc(mlir::Location loc);

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_LOCATIONS_H
