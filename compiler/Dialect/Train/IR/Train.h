//===- Train.h - Training graph dialect -------------------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_TRAIN_H
#define MPC_COMPILER_DIALECT_TRAIN_IR_TRAIN_H

#include "compiler/Dialect/Amp/IR/Amp.h"
#include "compiler/Dialect/Mpc/IR/Mpc.h"
#include "compiler/Dialect/Train/IR/StateRoles.h"
#include "compiler/Support/ErrorPropagation.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <cstdint>
#include <limits>
#include <optional>

namespace mpc::train {

/// Returns true if the two lists hold tensors of equal shapes, in order, with
/// equal element types or floats on both sides.
bool haveSameShapes(mlir::TypeRange lhs, mlir::TypeRange rhs);

/// The number of elements that the catalog's kernels `observe` and `rounding`
/// write.
inline constexpr int64_t kObservationWidth = 80;
inline constexpr int64_t kRoundingWidth = 8;

/// How an op that computes nothing arranges the elements of its operands.
enum class Move {
  InOrder,  ///< All of one operand, in their row-major order.
  Repeated, ///< All of one operand, possibly more than once.
  Permuted, ///< All of one operand, in another order.
  Picked,   ///< Some of one operand.
  Joined,   ///< All of several operands.
};

/// Integers in [low, high), where the smallest and the largest i64 stand for no
/// limit, and one more value that is ignored.
struct IndexRange {
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();
  std::optional<int64_t> ignored = std::nullopt;
};

/// How a loss compares a prediction with a target.
enum class LossKind {
  CrossEntropy,          ///< Logits with labels.
  NegativeLogLikelihood, ///< Logarithms of probabilities with labels.
  MeanSquaredError,
  MeanAbsoluteError,
  BinaryCrossEntropyWithLogits,
};

/// Extents of a matrix product; `rows` counts the rows of the whole batch.
struct ProductExtents {
  int64_t rows = 0, sum = 0, columns = 0;
};

/// What a matrix product can do with its result before it stores it.
enum class Epilogue {
  Sum,      ///< Add a tensor.
  Bias,     ///< Add an element to each column.
  Gelu,     ///< GELU, approximated by tanh; of the sum with a bias.
  GeluGrad, ///< Multiply by the derivative of Gelu at a tensor.
};

/// Marks ops that normalize their first operand; see TrainBase.td.
template <typename ConcreteOp>
class Normalizes : public mlir::OpTrait::TraitBase<ConcreteOp, Normalizes> {};

/// Marks ops that work element by element; see TrainBase.td.
template <typename ConcreteOp>
class ElementByElement
    : public mlir::OpTrait::TraitBase<ConcreteOp, ElementByElement> {};

/// Marks ops that compute indices; see TrainBase.td.
template <typename ConcreteOp>
class MakesIndices : public mlir::OpTrait::TraitBase<ConcreteOp, MakesIndices> {
};

/// Marks ops that access states and packs; see TrainBase.td.
template <typename ConcreteOp>
class AccessesStates
    : public mlir::OpTrait::TraitBase<ConcreteOp, AccessesStates> {};

/// Marks ops that no gradient flows back through; see TrainBase.td.
template <typename ConcreteOp>
class StopsGradient
    : public mlir::OpTrait::TraitBase<ConcreteOp, StopsGradient> {};

} // namespace mpc::train

#include "compiler/Dialect/Train/IR/TrainDialect.h.inc"
#include "compiler/Dialect/Train/IR/TrainEnums.h.inc"
#include "compiler/Dialect/Train/IR/TrainInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/Dialect/Train/IR/TrainAttributes.h.inc"
#define GET_OP_CLASSES
#include "compiler/Dialect/Train/IR/TrainOps.h.inc"

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_TRAIN_H
