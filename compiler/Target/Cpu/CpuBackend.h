//===- CpuBackend.h - Compilation for CPUs ----------------------*- C++ -*-===//
#ifndef MPC_COMPILER_TARGET_CPU_CPUBACKEND_H
#define MPC_COMPILER_TARGET_CPU_CPUBACKEND_H

#include "compiler/Target/Backend.h"
#include "compiler/Target/Package.h"

namespace mpc {

struct CpuTarget;

/// Adds the kernels of `module` to `variant`, as an object that the CPU runs.
/// With `sanitize` AddressSanitizer checks what they do.
llvm::Error addObject(mlir::ModuleOp module, const CpuTarget &cpu,
                      CodeSegment segment, PackageVariant &variant,
                      bool sanitize = false);

} // namespace mpc

#endif // MPC_COMPILER_TARGET_CPU_CPUBACKEND_H
