//===- OpCost.h - Operations and memory traffic of an op --------*- C++ -*-===//
#ifndef MPC_COMPILER_ANALYSIS_PRECISION_OPCOST_H
#define MPC_COMPILER_ANALYSIS_PRECISION_OPCOST_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/JSON.h"

namespace mpc {

/// Costs by format, before ops are fused.
struct OpCost {
  int64_t flops = 0, lowFlops = 0; ///< Total, and in 16 bit or less.
  int64_t fp8Flops = 0, tf32Flops = 0;
  int64_t bytes = 0, lowBytes = 0; ///< Bytes of floats.

  OpCost &operator+=(const OpCost &other);

  /// Adds the fields of a report (docs/format/report.md).
  void addTo(llvm::json::Object &object) const;
};

/// The cost of an op; zero for views and for ops without CostOpInterface.
OpCost costOf(mlir::Operation *op);

/// The type of the operand that decides how the op computes: the first float
/// that is not pinned, else the first float; null if there is none.
mlir::FloatType operandType(mlir::Operation *op);

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_PRECISION_OPCOST_H
