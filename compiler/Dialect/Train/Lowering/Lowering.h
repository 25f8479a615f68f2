//===- Lowering.h - Builders of generated kernels ---------------*- C++ -*-===//
//
// The contract between ops that become generated code and code generation.
// An op emits, on static tensors:
//
// - `linalg.generic` whose body is arith and math on scalars, with
//   `linalg.index` where a position matters;
// - indexing maps with results `d_i`, the constant 0 (broadcast of an extent of
//   1), or `d_i + c` (slices; for a single position that is broadcast, `c`,
//   which only mpc-compose-data-movement creates); output maps have constants
//   only in concat; a slice that begins at 0 of a larger extent N uses
//   `d_i mod N`, since linalg takes a plain `d_i` for the whole dimension;
// - reductions over dimensions marked as such, whose init is a `linalg.fill`
//   with the identity of the one combiner in the body (addf, maximumf), and
//   whose accumulation type is f32 or f64;
// - in a body, computed reads: `tensor.extract` from a tensor defined outside
//   of the body at indices computed from positions, constants and operands,
//   inside an `scf.if` wherever they can be out of bounds; `scf.for` with
//   bounds that do not depend on elements. A generic with a computed read of a
//   value starts a new kernel. ElementBody.h builds such bodies;
// - `tensor.collapse_shape`, `tensor.expand_shape`, `tensor.reshape`-free views
//   through `emitReshape`.
//
// Reductions keep no unit dimensions: the helpers reduce the rank and restore
// it with a view. The builders below emit exactly these forms.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_LOWERING_LOWERING_H
#define MPC_COMPILER_DIALECT_TRAIN_LOWERING_LOWERING_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpc::train {

/// Builds the value of one element from scalars. Float scalars arrive in the
/// compute type (f32, or f64 if any operand is f64), integers as they are.
using ScalarBody = llvm::function_ref<mlir::SmallVector<mlir::Value>(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// The float type in which `operands` are computed: f64 if one of them or of
/// `results` is f64, else f32.
mlir::FloatType getComputeType(mlir::ValueRange operands,
                               mlir::TypeRange results = {});

/// Emits one generic over the shape of `resultTypes` (all of one shape), with
/// operands broadcast as in NumPy. Float results of `body` are rounded to the
/// element type of their result. The body may use `linalg.index`.
mlir::SmallVector<mlir::Value> emitElementwise(mlir::OpBuilder &builder,
                                               mlir::Location loc,
                                               mlir::TypeRange resultTypes,
                                               mlir::ValueRange operands,
                                               ScalarBody body);

/// Like emitElementwise, where operand `i` is indexed by `dims[i]`: dimension
/// `k` of the operand moves with dimension `dims[i][k]` of the result. An
/// empty list is a scalar. For per-row and per-channel operands of any layout.
mlir::SmallVector<mlir::Value>
emitIndexed(mlir::OpBuilder &builder, mlir::Location loc,
            mlir::TypeRange resultTypes, mlir::ValueRange operands,
            llvm::ArrayRef<llvm::SmallVector<int64_t>> dims, ScalarBody body);

enum class Combiner {
  Sum,
  Max,       ///< NaN if any value is NaN.
  MaxNumber, ///< Maximum of the values that are not NaN: one instruction, not
             ///< four.
};

/// Emits one generic per result that reduces `axes` (sorted) of the common
/// shape of `domain`: each result is the reduction of one value that `body`
/// returns for each point. Operands are indexed as in emitIndexed, with
/// respect to the dimensions of `domain`. Results are in the compute type, or
/// in `compute` if that is given, with the reduced dimensions gone.
mlir::SmallVector<mlir::Value>
emitReduction(mlir::OpBuilder &builder, mlir::Location loc,
              llvm::ArrayRef<int64_t> domain, llvm::ArrayRef<int64_t> axes,
              Combiner combiner, mlir::ValueRange operands,
              llvm::ArrayRef<llvm::SmallVector<int64_t>> dims, ScalarBody body,
              mlir::FloatType compute = {});

/// A view of the same elements in another shape.
mlir::Value emitReshape(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, llvm::ArrayRef<int64_t> shape);

/// Rounds or widens a scalar float to `type`; returns the value itself if it
/// has that type.
mlir::Value convertFloat(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value, mlir::Type type);

/// A scalar float constant of `type`.
mlir::Value constantFloat(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Type type, double value);

/// All dimensions of a tensor value in order: the identity for emitIndexed.
llvm::SmallVector<int64_t> allDims(mlir::Value tensor);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_LOWERING_LOWERING_H
