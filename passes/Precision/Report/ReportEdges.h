//===- ReportEdges.h - Where operands come from -----------------*- C++ -*-===//
//
// The report's lines form a graph: each names the lines that computed its
// operands, and the casts between them are listed separately. Both are written
// as JSON, as described in docs/format/report.md.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_PRECISION_REPORT_REPORTEDGES_H
#define MPC_PASSES_PRECISION_REPORT_REPORTEDGES_H

#include "compiler/Analysis/Precision/PrecisionFacts.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/JSON.h"

namespace mpc {

class ReportEdges {
public:
  /// Lists only casts for which `isListed` holds: casts of the optimizer are
  /// not listed.
  ReportEdges(mlir::func::FuncOp func,
              llvm::function_ref<bool(mlir::Operation *)> isListed);

  /// The float operands of a reported op.
  llvm::json::Array inputsOf(mlir::Operation *op) const;

  /// The listed casts, in order.
  llvm::json::Array casts() const;

private:
  /// Adds to `object` where `value` comes from: a line, a state or an input.
  void addOrigin(mlir::Value value, llvm::json::Object &object) const;

  llvm::DenseMap<mlir::Operation *, int64_t> lines;
  llvm::DenseMap<mlir::Operation *, int64_t> castNumbers;
  llvm::SmallVector<mlir::Operation *> listed;
};

/// True for ops that only change the type of a tensor: casts, and roundings to
/// 8 bit.
bool isCast(mlir::Operation *op);

} // namespace mpc

#endif // MPC_PASSES_PRECISION_REPORT_REPORTEDGES_H
