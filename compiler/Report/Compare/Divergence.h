//===- Divergence.h - Where two programs of a model diverge -----*- C++ -*-===//
//
// Matches the ops of two programs of one model by their reports, computes the
// errors of their results, and finds the op that causes the divergence.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_REPORT_COMPARE_DIVERGENCE_H
#define MPC_COMPILER_REPORT_COMPARE_DIVERGENCE_H

#include "compiler/Report/Model/Data.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace mpc::report {

/// An op that both programs have. Equal ops of one node are matched by their
/// order.
struct SharedOp {
  size_t left = 0, right = 0;  ///< Its lines in the two reports.
  std::vector<int64_t> inputs; ///< Shared ops of its operands; -1 for none.
};

/// Returns the shared ops in the order of `left`. Each function may have ops
/// that the other lacks.
std::vector<SharedOp> matchOps(const Function &left, const Function &right);

/// ||value - truth|| / max(||truth||, `leastNorm`). Infinite if a value is not
/// finite where the truth is finite; elements whose truth is not finite are
/// skipped. If the divisor is 0, returns 0 for equal values and 1 for others.
double relativeError(llvm::ArrayRef<double> value, llvm::ArrayRef<double> truth,
                     double leastNorm = 0);

/// The largest error of the inputs of `op` that other ops compute; 0 if there
/// are none.
double errorOfInputs(const SharedOp &op, llvm::ArrayRef<double> errors);

/// Finds the cause of the divergence. Starts from the first op whose error
/// exceeds `tolerance` while those of its inputs do not, follows the largest
/// input errors backwards, and returns the op on this path that adds most to
/// the error. `errors` has one error for each of `ops`.
std::optional<size_t> findDivergence(llvm::ArrayRef<SharedOp> ops,
                                     llvm::ArrayRef<double> errors,
                                     double tolerance);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_COMPARE_DIVERGENCE_H
