//===- Fp8Type.h - 8-bit floats ---------------------------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_AMP_IR_FP8TYPE_H
#define MPC_COMPILER_DIALECT_AMP_IR_FP8TYPE_H

namespace mlir {
class Type;
} // namespace mlir

namespace mpc::amp {

/// Returns true if `type`, or the type of its elements, is an 8-bit row of
/// Formats.def. Only products compute in these types, and each tensor has a
/// scale.
bool isFp8(mlir::Type type);

/// Returns true if products read gradients in `type`, or in the type of its
/// elements: an 8-bit float with a wide range.
bool isFp8Gradient(mlir::Type type);

} // namespace mpc::amp

#endif // MPC_COMPILER_DIALECT_AMP_IR_FP8TYPE_H
