//===- KernelObject.h - Kernels as machine code -----------------*- C++ -*-===//
#ifndef MPC_COMPILER_TARGET_CPU_KERNELOBJECT_H
#define MPC_COMPILER_TARGET_CPU_KERNELOBJECT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mpc {

struct CpuTarget;

/// Compiles every `llvm.func` with the attribute `mpc.kernel` into one ELF
/// shared object and returns its bytes in `object`; `assembly`, if not null,
/// receives the code as text. With `sanitize` the code is instrumented with
/// AddressSanitizer. An error with an error code concerns temporary files; any
/// other error is a bug of mpc.
llvm::Error compileKernels(mlir::ModuleOp module, const CpuTarget &target,
                           std::string &object, std::string *assembly = nullptr,
                           bool sanitize = false);

} // namespace mpc

#endif // MPC_COMPILER_TARGET_CPU_KERNELOBJECT_H
