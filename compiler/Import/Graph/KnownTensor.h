//===- KnownTensor.h - Tensors that are computed at import ------*- C++ -*-===//
//
// Internal to compiler/Import. Exporters write masks, scales and shapes as
// nodes that compute with constants. A KnownTensor holds their elements while
// such a node is imported; between nodes they are attributes, which MLIR
// uniques.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_GRAPH_KNOWNTENSOR_H
#define MPC_COMPILER_IMPORT_GRAPH_KNOWNTENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <vector>

namespace mpc {

/// Maximum number of elements of one such tensor: a mask of 4096 x 4096. A file
/// may expand one number to any size.
constexpr int64_t kMaxKnownElements = int64_t(1) << 24;
/// Maximum number of elements of all distinct tensors (limits memory), and of
/// all tensors (limits time).
constexpr int64_t kMaxKnownDistinct = int64_t(1) << 26;
constexpr int64_t kMaxKnownTotal = int64_t(1) << 31;

struct KnownTensor {
  mlir::Type elementType; ///< f32 or f64, i64, i32, i1.
  llvm::SmallVector<int64_t> shape;
  // One of these two has the elements, in row-major order.
  std::vector<double> floats;
  std::vector<int64_t> ints; ///< Bools are 0 and 1.

  static KnownTensor of(mlir::DenseElementsAttr attribute);
  mlir::DenseElementsAttr attribute() const;

  bool isFloat() const { return llvm::isa<mlir::FloatType>(elementType); }
  bool isBool() const { return elementType.isInteger(1); }
  int64_t size() const { return isFloat() ? floats.size() : ints.size(); }
  double number(int64_t i) const { return isFloat() ? floats[i] : ints[i]; }

  /// A tensor of `shape` whose element `i` is element `from(i)` of this one, or
  /// zero if that is negative.
  KnownTensor pick(llvm::ArrayRef<int64_t> shape,
                   llvm::function_ref<int64_t(int64_t)> from) const;
  /// The same, with element `offset` plus `strides[d]` times the position in
  /// each dimension `d` of the result.
  KnownTensor walk(llvm::ArrayRef<int64_t> shape, int64_t offset,
                   llvm::ArrayRef<int64_t> strides) const;
  /// Repeats elements; the shape must broadcast.
  KnownTensor broadcastTo(llvm::ArrayRef<int64_t> shape) const;
  /// The elements in another type, rounded to `narrow` first if there is one.
  KnownTensor castTo(mlir::Type type, mlir::FloatType narrow = nullptr) const;
  /// The row-major stride of each dimension, in elements.
  llvm::SmallVector<int64_t> strides() const;
};

/// `value` as an element of this type: rounded, or truncated to its bits.
double roundTo(mlir::FloatType type, double value);
int64_t wrapTo(mlir::Type integerType, int64_t value);

/// Truncates toward zero. NaN and numbers out of range give the smallest
/// integer, as on x86. A bool is `value != 0`.
int64_t toInteger(mlir::Type integerType, double value);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_GRAPH_KNOWNTENSOR_H
