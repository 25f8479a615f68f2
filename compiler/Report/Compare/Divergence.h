//===- Divergence.h - Where two programs of one model part ------*- C++ -*-===//
//
// The ops of a step as two programs compute them, told from their reports; how
// far apart what they give is, and which of them is to blame.
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

/// An op that both programs have. Like ops of one node are told by their order.
struct SharedOp {
  size_t left = 0, right = 0;  ///< Its lines in the two functions.
  std::vector<int64_t> inputs; ///< The shared ops that its operands are of; -1:
                               ///< of none.
};

/// In the order of `left`, which may be of this run alone, as `right` may.
std::vector<SharedOp> matchOps(const Function &left, const Function &right);

/// ||value - truth|| / ||truth||, or of `leastNorm` if that is larger. Infinite
/// if a value is not finite where the truth is; where the truth is not finite
/// nothing is compared. Nothing is 0 off from nothing; anything else is 1 off.
double relativeError(llvm::ArrayRef<double> value, llvm::ArrayRef<double> truth,
                     double leastNorm = 0);

/// The largest error of what `op` reads of other ops; 0 if it reads nothing.
double errorOfInputs(const SharedOp &op, llvm::ArrayRef<double> errors);

/// What made the first op leave `tolerance` that reads nothing outside: of the
/// op, and of those that its largest error comes through, the one that adds
/// most to it. `errors` has one for each of `ops`.
std::optional<size_t> findParting(llvm::ArrayRef<SharedOp> ops,
                                  llvm::ArrayRef<double> errors,
                                  double tolerance);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_COMPARE_DIVERGENCE_H
