//===- KernelModule.h - Kernels as LLVM IR ----------------------*- C++ -*-===//
#ifndef MPC_COMPILER_TARGET_KERNELMODULE_H
#define MPC_COMPILER_TARGET_KERNELMODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/CodeGen.h"

#include <memory>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
class raw_pwrite_stream;
} // namespace llvm

namespace mpc {

/// Translates the functions and globals of the LLVM dialect in `module` to an
/// LLVM module; null if something has no translation.
std::unique_ptr<llvm::Module> translateKernels(mlir::ModuleOp module,
                                               llvm::LLVMContext &context);

/// Runs LLVM's optimizations. Loops are already vectorized, so the vectorizers
/// do not run; on a CPU, further unrolling gains nothing, because memory is the
/// bottleneck.
void optimizeKernels(llvm::Module &module, llvm::TargetMachine &machine,
                     bool unroll);

/// Instruments every access with AddressSanitizer; the program that loads the
/// code must be linked with its runtime library.
void sanitizeKernels(llvm::Module &module);

/// Writes code; returns false if the target cannot emit this type of file.
bool emitKernels(llvm::Module &module, llvm::TargetMachine &machine,
                 llvm::CodeGenFileType type, llvm::raw_pwrite_stream &out);

} // namespace mpc

#endif // MPC_COMPILER_TARGET_KERNELMODULE_H
