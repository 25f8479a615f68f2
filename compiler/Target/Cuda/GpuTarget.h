//===- GpuTarget.h - GPUs that kernels are compiled for ---------*- C++ -*-===//
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
  const char *ptxVersion; ///< LLVM's name for the oldest PTX with it.
};

/// The supported architectures, oldest first.
llvm::ArrayRef<GpuArchitecture> gpuArchitectures();
const GpuArchitecture *findGpuArchitecture(llvm::StringRef name);

/// Names of `architecture` and of all older ones: the features that
/// `kernels/catalog.def` may require.
std::vector<std::string> gpuFeatures(const GpuArchitecture &architecture);

/// A feature of code that is compiled for the GPU simulator on the host.
inline constexpr llvm::StringLiteral kSimulatedFeature = "simulated";

/// Compiles the NVVM kernels of `module` to PTX. An error is a bug of mpc.
llvm::Expected<std::string> compilePtx(mlir::ModuleOp module,
                                       const GpuArchitecture &architecture);

/// The output of the assembler.
struct Assembly {
  std::string cubin;
  std::vector<KernelResources> kernels;
};

/// Parses the output of `ptxas -v`: the resources of each kernel, in the order
/// of the output.
std::vector<KernelResources> parseAssemblerLog(llvm::StringRef log);

/// Assembles PTX with the CUDA toolkit's `ptxas`; returns nothing if that is
/// not on the path. An error with an error code concerns temporary files; any
/// other error is a bug of mpc: the PTX is wrong.
llvm::Expected<std::optional<Assembly>>
assemblePtx(llvm::StringRef ptx, const GpuArchitecture &architecture);

} // namespace mpc

#endif // MPC_COMPILER_TARGET_CUDA_GPUTARGET_H
