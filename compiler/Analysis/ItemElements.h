//===- ItemElements.h - What the items of a kernel access -------*- C++ -*-===//
#ifndef MPC_COMPILER_ANALYSIS_ITEMELEMENTS_H
#define MPC_COMPILER_ANALYSIS_ITEMELEMENTS_H

#include "compiler/Analysis/KernelDomain.h"
#include "compiler/Analysis/LaunchShape.h"

namespace mpc {

/// For each operand of a kernel, arguments first, the number n of elements of
/// which item i accesses only [i n, (i + 1) n); 0 for an argument that items
/// read otherwise. None if items have no places of their own in a result.
/// `domain` is that of the kernel, and `shape` its launch on a host.
std::optional<llvm::SmallVector<int64_t>>
elementsOfItems(mlir::func::FuncOp kernel, const KernelDomain &domain,
                const LaunchShape &shape);

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_ITEMELEMENTS_H
