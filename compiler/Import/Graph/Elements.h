//===- Elements.h - Tensors as attributes -----------------------*- C++ -*-===//
//
// Internal to compiler/Import.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_GRAPH_ELEMENTS_H
#define MPC_COMPILER_IMPORT_GRAPH_ELEMENTS_H

#include "compiler/Import/File/TensorData.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace mpc {

/// The element type for an ONNX data type: `floatType` for every float, i64,
/// i32 or i1; null for types that the train dialect does not have.
mlir::Type elementTypeFor(int32_t dataType, mlir::FloatType floatType);

/// Turns the elements of a tensor into an attribute of type `type`, whose
/// element type is elementTypeFor(dataType). Up to 32 elements are stored in
/// the attribute; more become a resource called `name`, which borrows `data` if
/// the types agree. Fails if an f64 value is out of range for f32.
llvm::Expected<mlir::ElementsAttr> makeElements(const TensorBytes &data,
                                                int32_t dataType,
                                                mlir::RankedTensorType type,
                                                llvm::StringRef name);

/// The values of a tensor of integers or bools; none for other types.
std::vector<int64_t> readIntegers(const TensorBytes &data, int32_t dataType);

/// The values of a float tensor; none for other types.
std::vector<double> readFloats(const TensorBytes &data, int32_t dataType);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_GRAPH_ELEMENTS_H
