//===- Sensitivities.h - Sensitivities of values ----------------*- C++ -*-===//
#ifndef MPC_COMPILER_ANALYSIS_PRECISION_SENSITIVITIES_H
#define MPC_COMPILER_ANALYSIS_PRECISION_SENSITIVITIES_H

#include "compiler/Support/UserInput/ProfileMatch.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mpc {

/// The sensitivities of the values of a function.
class Sensitivities {
public:
  /// Finds the values of `func` by node and op, in their order. A gradient has
  /// the sensitivity of its forward op, since both are sensitive to the same
  /// extent.
  ///
  /// The profile must outlive this object. A value that `func` computes and the
  /// profile lacks has `Sensitivity::unknown`.
  Sensitivities(const Profile &profile, mlir::func::FuncOp func);

  /// Tells whether the profile is of this model, and what it lacks.
  const ProfileMatch &match() const { return profiled; }

  /// Zero for values that are not measured: views, inputs, values without a
  /// node.
  Sensitivity of(mlir::Value value) const { return known.lookup(value); }

private:
  void addState(const Profile &profile, mlir::Value value,
                llvm::StringRef name);
  void addForward(mlir::Value value, const ProfiledTensor *tensor,
                  llvm::StringRef node);

  ProfileMatch profiled;
  llvm::DenseMap<mlir::Value, Sensitivity> known;
  /// By node, from the first op with more than one element; unknown if the
  /// profile lacks it.
  llvm::StringMap<Sensitivity> ofNodes;
};

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_PRECISION_SENSITIVITIES_H
