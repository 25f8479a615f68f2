//===- Sensitivities.h - What rounding values does to the loss --*- C++ -*-===//
#ifndef MPC_COMPILER_ANALYSIS_PRECISION_SENSITIVITIES_H
#define MPC_COMPILER_ANALYSIS_PRECISION_SENSITIVITIES_H

#include "compiler/Support/UserInput/ProfileMatch.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mpc {

/// Those of the values of a function.
class Sensitivities {
public:
  /// Finds the values of `func` by node and op, in their order. A gradient goes
  /// by its forward op: what is sharp one way is so the other way.
  ///
  /// The profile must outlive this, and must have measured what `func`
  /// computes: what it lacks is `Sensitivity::unknown`.
  Sensitivities(const Profile &profile, mlir::func::FuncOp func);

  /// Whether the profile is of this model, and what it lacks.
  const ProfileMatch &match() const { return profiled; }

  /// None of what is not measured: views, inputs, what has no node.
  Sensitivity of(mlir::Value value) const { return known.lookup(value); }

private:
  void addState(const Profile &profile, mlir::Value value,
                llvm::StringRef name);
  void addForward(mlir::Value value, const ProfiledTensor *tensor,
                  llvm::StringRef node);

  ProfileMatch profiled;
  llvm::DenseMap<mlir::Value, Sensitivity> known;
  /// By node, of the first op with more than one element; what the profile
  /// lacks counts most.
  llvm::StringMap<Sensitivity> ofNodes;
};

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_PRECISION_SENSITIVITIES_H
