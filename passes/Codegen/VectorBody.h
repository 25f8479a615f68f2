//===- VectorBody.h - Vectors of elements and their sums --------*- C++ -*-===//
#ifndef MPC_PASSES_CODEGEN_VECTORBODY_H
#define MPC_PASSES_CODEGEN_VECTORBODY_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"

namespace mpc {

/// The type of a scalar in vector code: `index` becomes i64, and with `lanes` >
/// 0 every type becomes a vector of that many elements.
mlir::Type vectorType(mlir::Type scalar, unsigned lanes);

/// Repeats a scalar `lanes` times; returns the scalar if `lanes` is 0.
mlir::Value broadcastLanes(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value scalar, unsigned lanes);

/// A constant of `scalar` type in every lane.
mlir::Value constantLanes(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::TypedAttr value, unsigned lanes);

/// A mask of `lanes` lanes of which the first `count` exist.
mlir::Value firstLanes(mlir::OpBuilder &builder, mlir::Location loc,
                       unsigned lanes, int64_t count);

/// How a reduction combines two values.
struct CombinerInfo {
  mlir::Operation *op; ///< Op in the body; null if there is no reduction.
  mlir::Value added;   ///< The operand that is not the accumulator.
  mlir::TypedAttr identity;
};

/// The combiner of result 0 of a reduction.
CombinerInfo findCombiner(mlir::linalg::GenericOp op);

/// Combines two vectors (or scalars) as `info.op` combines scalars; `total` is
/// the result so far.
mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc,
                    const CombinerInfo &info, mlir::Value total,
                    mlir::Value value);

/// Whether a long reduction must be done in blocks because its rounding error
/// grows with the number of terms: true for sums of f32.
bool needsBlocks(const CombinerInfo &info);

// Such a sum is added up in blocks, each starting from zero, and the block sums
// are added to an f64 total. Other reductions in the same loop have totals of
// their own type.

/// The identity of the reduction, in the type of its total.
mlir::TypedAttr totalIdentity(const CombinerInfo &info);

/// Adds the results of a block (vectors or scalars, combined in pairs) to
/// `total`.
mlir::Value addBlock(mlir::OpBuilder &builder, mlir::Location loc,
                     const CombinerInfo &info, mlir::Value total,
                     llvm::ArrayRef<mlir::Value> parts);

/// The final result of a total, rounded to the type of the reduction.
mlir::Value finishTotal(mlir::OpBuilder &builder, mlir::Location loc,
                        const CombinerInfo &info, mlir::Value total);

/// Combines values in pairs, always in the same order; their number must be a
/// power of 2.
mlir::Value joinInPairs(mlir::OpBuilder &builder, mlir::Location loc,
                        const CombinerInfo &info,
                        llvm::ArrayRef<mlir::Value> parts);

/// Combines all lanes of a vector, always in the same order.
mlir::Value reduceLanes(mlir::OpBuilder &builder, mlir::Location loc,
                        const CombinerInfo &info, mlir::Value lanes);

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_VECTORBODY_H
