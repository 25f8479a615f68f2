//===- Elementwise.h - Elementwise linalg ops -------------------*- C++ -*-===//
#ifndef MPC_PASSES_FUSION_KERNELS_ELEMENTWISE_H
#define MPC_PASSES_FUSION_KERNELS_ELEMENTWISE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mpc {

/// True if `op` computes each element of its only result, in order, from the
/// elements of its operands at that position, which may broadcast.
bool isElementwise(mlir::linalg::GenericOp op);

} // namespace mpc

#endif // MPC_PASSES_FUSION_KERNELS_ELEMENTWISE_H
