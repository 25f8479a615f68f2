//===- Sensitivities.h - What rounding values does to the loss --*- C++ -*-===//
#ifndef MPC_PASSES_PRECISION_SENSITIVITIES_H
#define MPC_PASSES_PRECISION_SENSITIVITIES_H

#include "compiler/Support/Profile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mpc {

/// Those of the values of a function.
class Sensitivities {
public:
  /// Finds the values of `func` by node and op, in their order. A gradient goes
  /// by its forward op: what is sharp one way is so the other way.
  Sensitivities(const Profile &profile, mlir::func::FuncOp func);

  Sensitivity of(mlir::Value value) const { return known.lookup(value); }
  bool empty() const { return known.empty(); }

private:
  llvm::DenseMap<mlir::Value, Sensitivity> known;
};

} // namespace mpc

#endif // MPC_PASSES_PRECISION_SENSITIVITIES_H
