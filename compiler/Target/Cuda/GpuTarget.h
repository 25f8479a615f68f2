//===- GpuTarget.h - The GPUs that kernels are compiled for -----*- C++ -*-===//
#ifndef MPC_COMPILER_TARGET_CUDA_GPUTARGET_H
#define MPC_COMPILER_TARGET_CUDA_GPUTARGET_H

#include "compiler/Support/Report.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace mpc {

/// An architecture of NVIDIA's GPUs.
struct GpuArchitecture {
  const char *name;       ///< "sm_80".
  unsigned capability;    ///< 80: compute capability 8.0.
  const char *ptxVersion; ///< LLVM's name of the oldest PTX that knows it.
};

/// The architectures we know, oldest first.
llvm::ArrayRef<GpuArchitecture> gpuArchitectures();
const GpuArchitecture *findGpuArchitecture(llvm::StringRef name);

/// Names of `architecture` and of all older ones: what `kernels/catalog.def`
/// may ask for.
std::vector<std::string> gpuFeatures(const GpuArchitecture &architecture);

/// What code has among its features that is for the host simulator of GPUs.
inline constexpr llvm::StringLiteral kSimulatedFeature = "simulated";

/// Compiles the NVVM kernels of `module` to PTX. Errors are ours.
llvm::Expected<std::string> compilePtx(mlir::ModuleOp module,
                                       const GpuArchitecture &architecture);

/// What the assembler says of its work.
struct Assembly {
  std::string cubin;
  std::vector<KernelResources> kernels;
};

/// What the output of `ptxas -v` says of each kernel, in its order.
std::vector<KernelResources> parseAssemblerLog(llvm::StringRef log);

/// Assembles PTX with the CUDA toolkit's `ptxas`, if it is on the path; nothing
/// if it is not. An error with a code is about temporary files; others are
/// ours: the PTX is wrong.
llvm::Expected<std::optional<Assembly>>
assemblePtx(llvm::StringRef ptx, const GpuArchitecture &architecture);

} // namespace mpc

#endif // MPC_COMPILER_TARGET_CUDA_GPUTARGET_H
