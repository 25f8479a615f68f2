//===- HostTensor.h - Tensors of the interpreter ----------------*- C++ -*-===//
#ifndef MPC_COMPILER_REFERENCE_HOSTTENSOR_H
#define MPC_COMPILER_REFERENCE_HOSTTENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <cstdint>
#include <vector>

namespace mpc::reference {

/// One element: a float of any type as f64; an integer as wide as its type,
/// sign-extended; a boolean as 0 or 1.
union Element {
  double real;
  int64_t whole;
};

/// A dense tensor, row-major.
struct HostTensor {
  mlir::RankedTensorType type;
  std::vector<Element> elements;

  /// A tensor of zeros.
  static HostTensor zeros(mlir::RankedTensorType type);
  static HostTensor of(mlir::ElementsAttr value);

  /// Sets the elements from memory: row-major, booleans as bytes.
  void fill(llvm::ArrayRef<char> bytes);

  bool isFloat() const {
    return mlir::isa<mlir::FloatType>(type.getElementType());
  }
};

/// The value of the float type `type` nearest to `value`, ties to even.
double roundTo(mlir::Type type, double value);

/// `bits` as an integer of `type`.
Element wholeOf(mlir::Type type, uint64_t bits);

/// The element of a FloatAttr, IntegerAttr or BoolAttr.
Element elementOf(mlir::Attribute value);

} // namespace mpc::reference

#endif // MPC_COMPILER_REFERENCE_HOSTTENSOR_H
