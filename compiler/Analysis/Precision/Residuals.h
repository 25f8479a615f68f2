//===- Residuals.h - Sums of residual streams -------------------*- C++ -*-===//
#ifndef MPC_COMPILER_ANALYSIS_PRECISION_RESIDUALS_H
#define MPC_COMPILER_ANALYSIS_PRECISION_RESIDUALS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace mpc {

/// The sums of a residual stream, x + f(x), and the sums of its gradient.
llvm::DenseSet<mlir::Operation *> findResidualSums(mlir::func::FuncOp func);

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_PRECISION_RESIDUALS_H
