//===- Magnitudes.h - Norms that errors are relative to ---------*- C++ -*-===//
//
// A sum of numbers of both signs may cancel, but keeps the absolute error of
// its terms: the gradient of a bias before a norm is 0, and so is the gradient
// through the maximum that a log-sum-exp subtracts. Relative to such a result
// any error is large. Therefore errors are relative to a norm that is at least
// a fraction of the norm of the terms. The same holds for results that only
// move or scale a cancelled sum.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_REPORT_MODEL_MAGNITUDES_H
#define MPC_COMPILER_REPORT_MODEL_MAGNITUDES_H

#include "compiler/Report/Compare/Divergence.h"

namespace mpc::report {

class Magnitudes {
public:
  /// `ops` are ops of the function `reference`, in which rounding has a
  /// relative error of at most `unit`. Both must outlive this object.
  Magnitudes(llvm::ArrayRef<SharedOp> ops, const Function &reference,
             double unit);

  /// The minimum norm for the relative error of result number `result` of `op`;
  /// 0 if its own norm suffices. `value` is the result, or a sketch of it. Call
  /// it for each result that is shown, in order.
  double leastNormOf(size_t op, size_t result, llvm::ArrayRef<double> value);

private:
  /// The first result of an op that is shown.
  struct Shown {
    double norm = 0;
    size_t count = 0; ///< 0 if it is not shown.
    double least = 0; ///< The maximum over all results.
  };

  const Shown *inputOf(size_t op, size_t operand) const;
  double inherited(size_t op, llvm::ArrayRef<double> value) const;
  double scaled(size_t op) const;
  double divided(size_t op) const;
  double centred(size_t op, double norm) const;
  double projected(size_t op, double norm) const;
  double added(size_t op, double norm) const;
  double cancellationFloor(double terms, double norm) const;
  double summed(size_t op) const;
  double contracted(size_t op) const;

  llvm::ArrayRef<SharedOp> ops;
  const Function &reference;
  const double unit;
  std::vector<Shown> shown; ///< One for each of `ops`.
};

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_MODEL_MAGNITUDES_H
