//===- HeadTransposes.h - Heads outside and inside the sequence -*- C++ -*-===//
//
// What passes share that let attention read heads where projections have them.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_FUSION_HEADS_HEADTRANSPOSES_H
#define MPC_PASSES_FUSION_HEADS_HEADTRANSPOSES_H

#include "compiler/Dialect/Train/IR/Train.h"

namespace mpc {

/// The op that defines `value` if it exchanges heads and rows and does nothing
/// else; or null.
train::TransposeOp getHeadSwap(mlir::Value value);

/// True if the use only says after which value others may be computed.
bool isOnlyOrder(mlir::OpOperand &use);

/// `value` with heads and rows exchanged.
mlir::Value swapHeads(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value);

/// Lets the users of `old`, whose heads and rows were exchanged, read `made`
/// instead, which `builder` is behind.
void replaceBySwapped(mlir::OpBuilder &builder, mlir::Value old,
                      mlir::Value made);

/// `ops`, in groups that share operands or read each other's results.
llvm::SmallVector<llvm::SmallVector<train::HeadLayoutOpInterface>>
groupsOf(llvm::ArrayRef<train::HeadLayoutOpInterface> ops);

} // namespace mpc

#endif // MPC_PASSES_FUSION_HEADS_HEADTRANSPOSES_H
