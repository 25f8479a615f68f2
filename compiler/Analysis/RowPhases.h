//===- RowPhases.h - Passes over one row of a kernel ------------*- C++ -*-===//
#ifndef MPC_COMPILER_ANALYSIS_ROWPHASES_H
#define MPC_COMPILER_ANALYSIS_ROWPHASES_H

#include "compiler/Analysis/KernelDomain.h"

namespace mpc {

/// The phases of a row: each passes over its columns once, and ends with the
/// sums over them that later phases need.
struct RowPhases {
  unsigned count = 1;
  llvm::SmallVector<unsigned> of; ///< First phase in which each node can be
                                  ///< computed.
};

RowPhases findRowPhases(const KernelDomain &domain);

/// The inputs from memory that are contiguous along the columns and that more
/// than one phase reads, each once.
llvm::SmallVector<const KernelAccess *>
findRereadInputs(const KernelDomain &domain);

/// True if `value` is used outside of the kernel.
bool isUsedOutside(const KernelDomain &domain, mlir::Value value);

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_ROWPHASES_H
