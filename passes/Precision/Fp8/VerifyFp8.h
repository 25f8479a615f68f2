//===- VerifyFp8.h - Scales go in and come out ------------------*- C++ -*-===//
#ifndef MPC_PASSES_PRECISION_FP8_VERIFYFP8_H
#define MPC_PASSES_PRECISION_FP8_VERIFYFP8_H

#include "mlir/IR/Operation.h"

namespace mpc {

/// Checks that tensors of 8 bit are rounded with a scale, moved and multiplied,
/// nothing else; and that of each product exactly the scales are taken out with
/// which its operands were rounded.
mlir::LogicalResult verifyFp8(mlir::Operation *op);

} // namespace mpc

#endif // MPC_PASSES_PRECISION_FP8_VERIFYFP8_H
