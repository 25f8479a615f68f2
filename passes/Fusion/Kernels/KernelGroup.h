//===- KernelGroup.h - Ops that become one kernel ---------------*- C++ -*-===//
#ifndef MPC_PASSES_FUSION_KERNELS_KERNELGROUP_H
#define MPC_PASSES_FUSION_KERNELS_KERNELGROUP_H

#include "compiler/Analysis/KernelSchedule.h"
#include "compiler/Target/Backend.h"

namespace mpc {

/// Ops that become one kernel, in program order.
struct KernelGroup {
  llvm::SmallVector<mlir::linalg::GenericOp> ops;
  llvm::SmallVector<unsigned>
      positions; ///< Positions of the ops in their block.
  KernelDomain domain;
  LaunchShape shape;
  unsigned end = 0; ///< The last position that it waits for.

  int64_t elements() const {
    return domain.outer() * domain.rows() * domain.columns();
  }
  int64_t work() const { return elements() * elementCost(domain); }
};

/// The number of operands of a kernel of `ops`, at most.
size_t countOperands(llvm::ArrayRef<mlir::linalg::GenericOp> ops);

/// Computes cheap elementwise results again in the kernels that use them, where
/// that saves memory traffic: a kernel that adds a bias need not store the sum
/// for the backward pass if it is there to read the product instead.
void recomputeInUsers(llvm::MutableArrayRef<KernelGroup> groups,
                      const Backend &backend);

} // namespace mpc

#endif // MPC_PASSES_FUSION_KERNELS_KERNELGROUP_H
