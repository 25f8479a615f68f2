//===- Sensitivities.h - What rounding values does to the loss --*- C++ -*-===//
#ifndef MPC_COMPILER_ANALYSIS_PRECISION_SENSITIVITIES_H
#define MPC_COMPILER_ANALYSIS_PRECISION_SENSITIVITIES_H

#include "compiler/Support/UserInput/Profile.h"

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

  /// Fails if the profile is of another model: it lacks more than half of what
  /// the forward pass computes, or has weights of other sizes.
  llvm::Error check() const;

  /// None of what is not measured: views, inputs, what has no node.
  Sensitivity of(mlir::Value value) const { return known.lookup(value); }

  /// What of the forward pass the profile does not know, for a note; "" if it
  /// knows all.
  std::string lacks() const;

private:
  void addState(mlir::Value value, llvm::StringRef name);
  void addMissing(mlir::Value value, llvm::StringRef name);
  void addForward(mlir::Value value, const ProfiledTensor *tensor,
                  llvm::StringRef node);

  const Profile &profile;
  llvm::DenseMap<mlir::Value, Sensitivity> known;
  /// By node, of the first op with more than one element; what the profile
  /// lacks counts most.
  llvm::StringMap<Sensitivity> ofNodes;
  unsigned numForward = 0, numMissing = 0;
  std::string firstMissing; ///< Its node or state.
  std::string wrongWeight;  ///< What is wrong with it; "" if none is.
};

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_PRECISION_SENSITIVITIES_H
