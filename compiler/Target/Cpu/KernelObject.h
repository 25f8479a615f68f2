//===- KernelObject.h - Kernels to machine code -----------------*- C++ -*-===//
#ifndef MPC_COMPILER_TARGET_CPU_KERNELOBJECT_H
#define MPC_COMPILER_TARGET_CPU_KERNELOBJECT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mpc {

struct CpuTarget;

/// Compiles every `llvm.func` with the attribute `mpc.kernel` into one ELF
/// shared object, whose bytes are `object`; `assembly`, if not null, receives
/// the code as text; with `sanitize` AddressSanitizer checks what it does.
/// An error with a code is about temporary files; others are ours.
llvm::Error compileKernels(mlir::ModuleOp module, const CpuTarget &target,
                           std::string &object, std::string *assembly = nullptr,
                           bool sanitize = false);

} // namespace mpc

#endif // MPC_COMPILER_TARGET_CPU_KERNELOBJECT_H
