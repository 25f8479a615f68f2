//===- KnownTensor.h - Tensors that are computed at import ------*- C++ -*-===//
//
// Internal to compiler/Import. Exporters write masks, scales and shapes as
// nodes that compute with constants. Their elements lie here while such a node
// is imported; between nodes they are attributes, which MLIR stores once if
// they are equal.
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

/// Most elements of one such tensor: a mask of 4096 x 4096. A file that expands
/// one number may ask for any.
constexpr int64_t kMaxKnownElements = int64_t(1) << 24;
/// Most elements of all that differ, for memory, and of all, for time.
constexpr int64_t kMaxKnownDistinct = int64_t(1) << 26;
constexpr int64_t kMaxKnownTotal = int64_t(1) << 31;

struct KnownTensor {
  mlir::Type elementType; ///< f32 or f64, i64, i32, i1.
  llvm::SmallVector<int64_t> shape;
  // One of the two has the elements, in row-major order.
  std::vector<double> floats;
  std::vector<int64_t> ints; ///< Bools are 0 and 1.

  static KnownTensor of(mlir::DenseElementsAttr attribute);
  mlir::DenseElementsAttr attribute() const;

  bool isFloat() const { return llvm::isa<mlir::FloatType>(elementType); }
  bool isBool() const { return elementType.isInteger(1); }
  int64_t size() const { return isFloat() ? floats.size() : ints.size(); }
  double number(int64_t i) const { return isFloat() ? floats[i] : ints[i]; }

  /// A tensor of `shape` whose element `i` is element `from(i)` of this one, or
  /// zero where that is negative.
  KnownTensor pick(llvm::ArrayRef<int64_t> shape,
                   llvm::function_ref<int64_t(int64_t)> from) const;
  /// The same, where dimension `d` of the result moves by `strides[d]` elements
  /// from element `offset` on.
  KnownTensor walk(llvm::ArrayRef<int64_t> shape, int64_t offset,
                   llvm::ArrayRef<int64_t> strides) const;
  /// Repeats elements; the shape must broadcast.
  KnownTensor broadcastTo(llvm::ArrayRef<int64_t> shape) const;
  /// The elements in another type, rounded to `narrow` first if there is one.
  KnownTensor castTo(mlir::Type type, mlir::FloatType narrow = nullptr) const;
  /// Elements between two neighbours in each dimension.
  llvm::SmallVector<int64_t> strides() const;
};

/// `value` as an element of this type: rounded, or with the bits that fit.
double roundTo(mlir::FloatType type, double value);
int64_t wrapTo(mlir::Type integerType, int64_t value);

/// Without its fraction; of what has no integer (NaN is one) whatever the
/// machine makes of it.
int64_t toInteger(mlir::Type integerType, double value);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_GRAPH_KNOWNTENSOR_H
