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

/// The functions and globals of the LLVM dialect in `module` as LLVM IR of
/// their own; null if something has no translation.
std::unique_ptr<llvm::Module> translateKernels(mlir::ModuleOp module,
                                               llvm::LLVMContext &context);

/// Runs LLVM's optimizations. Loops are vectors already, so they are not
/// vectorized; on a CPU, unrolling them further gives nothing that memory would
/// not take back.
void optimizeKernels(llvm::Module &module, llvm::TargetMachine &machine,
                     bool unroll);

/// Has every access checked by AddressSanitizer, whose library the program that
/// loads the code must have.
void sanitizeKernels(llvm::Module &module);

/// Writes code; false if the target has no such form of it.
bool emitKernels(llvm::Module &module, llvm::TargetMachine &machine,
                 llvm::CodeGenFileType type, llvm::raw_pwrite_stream &out);

} // namespace mpc

#endif // MPC_COMPILER_TARGET_KERNELMODULE_H
