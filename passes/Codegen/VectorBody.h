//===- VectorBody.h - Vectors of elements and their sums --------*- C++ -*-===//
#ifndef MPC_PASSES_CODEGEN_VECTORBODY_H
#define MPC_PASSES_CODEGEN_VECTORBODY_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"

namespace mpc {

/// The type a scalar has in vector code: `index` becomes i64, and with
/// `lanes` > 0 all become vectors of that many elements.
mlir::Type vectorType(mlir::Type scalar, unsigned lanes);

/// Repeats a scalar `lanes` times; itself if `lanes` is 0.
mlir::Value broadcastLanes(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value scalar, unsigned lanes);

/// A constant of `scalar` type in every lane.
mlir::Value constantLanes(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::TypedAttr value, unsigned lanes);

/// A mask of `lanes` lanes of which the first `count` exist.
mlir::Value firstLanes(mlir::OpBuilder &builder, mlir::Location loc,
                       unsigned lanes, int64_t count);

/// How a reduction joins two values.
struct CombinerInfo {
  mlir::Operation *op; ///< In the body; null if the op is no reduction.
  mlir::Value added;   ///< The operand that is not the accumulator.
  mlir::TypedAttr identity;
};

/// The combiner of result 0 of a reduction.
CombinerInfo findCombiner(mlir::linalg::GenericOp op);

/// Joins two vectors (or scalars) as `info.op` joins scalars; `total` holds
/// what has been joined so far.
mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc,
                    const CombinerInfo &info, mlir::Value total,
                    mlir::Value value);

/// Whether rounding errors of a reduction grow with the number of its terms so
/// that a long one has to be done in blocks: sums of f32.
bool needsBlocks(const CombinerInfo &info);

// Such a sum is added up in blocks, each from nothing, which go to a total in
// f64. Other reductions that are computed beside it have totals of their own
// type.

/// The identity in the type of totals.
mlir::TypedAttr totalIdentity(const CombinerInfo &info);

/// Adds the results of a block (vectors or scalars, joined in pairs) to
/// `total`.
mlir::Value addBlock(mlir::OpBuilder &builder, mlir::Location loc,
                     const CombinerInfo &info, mlir::Value total,
                     llvm::ArrayRef<mlir::Value> parts);

/// The result that a total has come to, rounded to its type.
mlir::Value finishTotal(mlir::OpBuilder &builder, mlir::Location loc,
                        const CombinerInfo &info, mlir::Value total);

/// Joins values in pairs, always in the same order; their number is a power of
/// 2.
mlir::Value joinInPairs(mlir::OpBuilder &builder, mlir::Location loc,
                        const CombinerInfo &info,
                        llvm::ArrayRef<mlir::Value> parts);

/// Joins all lanes of a vector, always in the same order.
mlir::Value reduceLanes(mlir::OpBuilder &builder, mlir::Location loc,
                        const CombinerInfo &info, mlir::Value lanes);

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_VECTORBODY_H
