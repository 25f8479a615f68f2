//===- Magnitudes.h - What errors of results are relative to ----*- C++ -*-===//
//
// A sum of numbers of either sign may cancel, and is then as far off as its
// terms are, whatever is left of it: the gradient of a bias before a norm is 0,
// and so is the one through the maximum that a log-sum-exp subtracts. Divided
// by such a result any error is large. So errors are taken of a norm that does
// not get smaller than a share of what the terms have, and neither do those of
// results that only move or scale what cancelled.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_REPORT_MODEL_MAGNITUDES_H
#define MPC_COMPILER_REPORT_MODEL_MAGNITUDES_H

#include "compiler/Report/Compare/Divergence.h"

namespace mpc::report {

class Magnitudes {
public:
  /// For `ops` of the function that is the reference, in which rounding changes
  /// a number by the share `unit` at most. Both must outlive this.
  Magnitudes(llvm::ArrayRef<SharedOp> ops, const Function &reference,
             double unit);

  /// The least norm that the error of result number `result` of `op` is taken
  /// of; 0 if its own will do. `value` is the result, or a sketch of it. To be
  /// called for each result that is shown, in order.
  double leastNormOf(size_t op, size_t result, llvm::ArrayRef<double> value);

private:
  /// The first result of an op that is shown.
  struct Shown {
    double norm = 0;
    size_t count = 0; ///< 0: it is not shown.
    double least = 0; ///< The largest of those of all results.
  };

  const Shown *inputOf(size_t op, size_t operand) const;
  double inherited(size_t op, llvm::ArrayRef<double> value) const;
  double scaled(size_t op) const;
  double divided(size_t op) const;
  double centred(size_t op, double norm) const;
  double projected(size_t op, double norm) const;
  double added(size_t op, double norm) const;
  double leftOf(double terms, double norm) const;
  double summed(size_t op) const;
  double contracted(size_t op) const;

  llvm::ArrayRef<SharedOp> ops;
  const Function &reference;
  const double unit;
  std::vector<Shown> shown; ///< One for each of `ops`.
};

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_MODEL_MAGNITUDES_H
