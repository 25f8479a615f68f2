//===- ElementBody.h - Elements with computed reads -------------*- C++ -*-===//
//
// For windows, gathers and resampling, each element of a result is computed by
// a small program, which reads operands at places that it computes. Code
// generation turns it into vectors or threads; reads whose place moves with the
// last dimension become vector reads.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_LOWERING_ELEMENTBODY_H
#define MPC_COMPILER_DIALECT_TRAIN_LOWERING_ELEMENTBODY_H

#include "compiler/Dialect/Train/Lowering/ScalarMath.h"

namespace mpc::train {

/// The program of one element. Places are of type `index`; elements are floats
/// in the compute type, or integers as they are.
class ElementBody : public ScalarMath {
public:
  using Values = llvm::SmallVector<mlir::Value>;

  ElementBody(mlir::OpBuilder &builder, mlir::Location loc,
              mlir::FloatType compute)
      : ScalarMath(builder, loc), builder(builder), loc(loc), compute(compute),
        home(builder.getInsertionBlock()) {}

  mlir::FloatType computeType() const { return compute; }
  mlir::Value number(double value) {
    return constantFloat(builder, loc, compute, value);
  }
  /// 0, in the compute type if `element` is a float.
  mlir::Value zero(mlir::Type element);
  /// An integer of the type of `like`.
  mlir::Value integer(int64_t value, mlir::Value like);

  // Places -------------------------------------------------------------------
  /// Position of the element in dimension `dim` of the result.
  mlir::Value position(int64_t dim);
  mlir::Value indexConstant(int64_t value);
  /// Converts an integer operand to a place, and back.
  mlir::Value toIndex(mlir::Value integer);
  mlir::Value toInteger(mlir::Value index, mlir::Type type);
  mlir::Value toFloat(mlir::Value placeOrInteger);
  /// The floor of a float, which must lie in the range of i32.
  mlir::Value floorToPlace(mlir::Value value);
  mlir::Value plus(mlir::Value a, mlir::Value b);
  mlir::Value minus(mlir::Value a, mlir::Value b);
  mlir::Value times(mlir::Value a, int64_t factor);
  /// Rounded down, also for a negative place; `divisor` > 0.
  mlir::Value dividedBy(mlir::Value a, int64_t divisor);
  /// In [0, divisor).
  mlir::Value modulo(mlir::Value a, int64_t divisor);
  mlir::Value least(mlir::Value a, mlir::Value b);
  mlir::Value greatest(mlir::Value a, mlir::Value b);
  mlir::Value equals(mlir::Value a, mlir::Value b);
  mlir::Value isLess(mlir::Value a, mlir::Value b);
  /// 0 <= a < extent.
  mlir::Value isWithin(mlir::Value a, int64_t extent);

  // Reads --------------------------------------------------------------------
  /// The element of `tensor` at places that are in bounds.
  mlir::Value read(mlir::Value tensor, mlir::ValueRange places);
  /// The element if `condition` holds, else `otherwise`, which has the type
  /// that read() returns.
  mlir::Value readIf(mlir::Value condition, mlir::Value tensor,
                     mlir::ValueRange places, mlir::Value otherwise);

  // Loops --------------------------------------------------------------------
  /// Runs `step` for 0 .. count-1 in order; it gets the iteration number and
  /// the results of the previous iteration, initially `inits`.
  Values loop(int64_t count, mlir::ValueRange inits,
              llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> step);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::FloatType compute;
  mlir::Block *home; ///< The body of the generic; positions are emitted there.
};

/// Emits one generic over the shape of `results`, as emitElementwise does,
/// whose elements `body` computes; `operands` (which broadcast) arrive as
/// scalars of the same position.
mlir::SmallVector<mlir::Value> emitComputed(
    mlir::OpBuilder &builder, mlir::Location loc, mlir::TypeRange results,
    mlir::ValueRange operands, mlir::FloatType compute,
    llvm::function_ref<ElementBody::Values(ElementBody, mlir::ValueRange)>
        body);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_LOWERING_ELEMENTBODY_H
