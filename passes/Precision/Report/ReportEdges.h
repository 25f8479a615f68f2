//===- ReportEdges.h - Where operands come from -----------------*- C++ -*-===//
//
// The report's lines are a graph: each names the lines that made its operands,
// and the casts between them are listed beside. Both as JSON, in the form that
// docs/format/report.md describes.
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
  /// `isListed` is asked of casts: those of the optimizer are none of a step's.
  ReportEdges(mlir::func::FuncOp func,
              llvm::function_ref<bool(mlir::Operation *)> isListed);

  /// The float operands of a reported op.
  llvm::json::Array inputsOf(mlir::Operation *op) const;

  /// The casts that are listed, in order.
  llvm::json::Array casts() const;

private:
  /// Says at `object` what made `value`: a line, a state, an input.
  void addOrigin(mlir::Value value, llvm::json::Object &object) const;

  llvm::DenseMap<mlir::Operation *, int64_t> lines;
  llvm::DenseMap<mlir::Operation *, int64_t> castNumbers;
  llvm::SmallVector<mlir::Operation *> listed;
};

/// True for ops that change the type of a tensor and nothing else: casts, and
/// roundings to 8 bit.
bool isCast(mlir::Operation *op);

} // namespace mpc

#endif // MPC_PASSES_PRECISION_REPORT_REPORTEDGES_H
