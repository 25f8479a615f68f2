//===- HeadTransposes.h - Heads outside and inside the sequence -*- C++ -*-===//
//
// What passes share that let attention read heads where projections have them.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_FUSION_HEADS_HEADTRANSPOSES_H
#define MPC_PASSES_FUSION_HEADS_HEADTRANSPOSES_H

#include "compiler/Dialect/Train/IR/Train.h"

namespace mpc {

/// An order of the dimensions [B, H, T, D], as a permutation, and the one that
/// undoes it.
struct HeadOrder {
  llvm::ArrayRef<int64_t> there, back;
};
/// [B, T, H, D].
inline constexpr int64_t kSwapHeads[] = {0, 2, 1, 3};
inline constexpr HeadOrder kBatchFirst = {kSwapHeads, kSwapHeads};
/// [T, B, H, D].
inline constexpr int64_t kToSequenceFirst[] = {2, 0, 1, 3};
inline constexpr int64_t kFromSequenceFirst[] = {1, 2, 0, 3};
inline constexpr HeadOrder kSequenceFirst = {kToSequenceFirst,
                                             kFromSequenceFirst};

/// The op that defines `value` if it permutes dimensions like this and does
/// nothing else; or null.
train::TransposeOp getHeadTranspose(mlir::Value value,
                                    llvm::ArrayRef<int64_t> permutation);

/// True if the use only says after which value others may be computed.
bool isOnlyOrder(mlir::OpOperand &use);

/// `value` [B, H, T, D] in another order.
mlir::Value orderHeads(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value value, HeadOrder order);

/// Lets the users of `old` [B, H, T, D] read `made` instead, which `builder` is
/// behind and which has this order.
void replaceByOrdered(mlir::OpBuilder &builder, mlir::Value old,
                      mlir::Value made, HeadOrder order);

/// `ops`, in groups that share operands or read each other's results.
llvm::SmallVector<llvm::SmallVector<train::HeadLayoutOpInterface>>
groupsOf(llvm::ArrayRef<train::HeadLayoutOpInterface> ops);

} // namespace mpc

#endif // MPC_PASSES_FUSION_HEADS_HEADTRANSPOSES_H
