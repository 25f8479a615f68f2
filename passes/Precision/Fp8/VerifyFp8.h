//===- VerifyFp8.h - Verify uses of FP8 -------------------------*- C++ -*-===//
#ifndef MPC_PASSES_PRECISION_FP8_VERIFYFP8_H
#define MPC_PASSES_PRECISION_FP8_VERIFYFP8_H

#include "mlir/IR/Operation.h"

namespace mpc {

/// Checks that 8-bit tensors are only rounded with a scale, moved and
/// multiplied, and that exactly the scales of its operands are removed from
/// each product.
mlir::LogicalResult verifyFp8(mlir::Operation *op);

} // namespace mpc

#endif // MPC_PASSES_PRECISION_FP8_VERIFYFP8_H
