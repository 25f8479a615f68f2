//===- Format.h - Number formats in the IR ----------------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_AMP_IR_FORMAT_H
#define MPC_COMPILER_DIALECT_AMP_IR_FORMAT_H

#include "compiler/Support/Precision/Formats.h"

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpImplementation.h"

#include <optional>

namespace mpc::amp {

/// Parses the name of a row of Formats.def.
mlir::FailureOr<Format> parseFormat(mlir::AsmParser &parser);

/// The type of elements that are stored in `format`.
mlir::FloatType elementTypeOf(mlir::MLIRContext *context, Format format);

/// The format of elements of `type`; nothing if no row of Formats.def stores
/// them.
std::optional<Format> formatOf(mlir::Type type);

/// Writes the format that the user gave an op, as kFormatAttr.
void setFormat(mlir::Operation *op, Format format);

/// The format that the user gave an op; nothing if the user gave none.
std::optional<Format> getFormat(mlir::Operation *op);

} // namespace mpc::amp

#endif // MPC_COMPILER_DIALECT_AMP_IR_FORMAT_H
