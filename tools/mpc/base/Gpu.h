//===- Gpu.h - What this machine offers to --target=cuda --------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_BASE_GPU_H
#define MPC_TOOLS_MPC_BASE_GPU_H

#include "kernels/cuda/cublaslt/cublaslt.h"
#include "kernels/cuda/cudnn/cudnn.h"
#include "kernels/cuda/driver/driver.h"

#include <nlohmann/json.hpp>

#include <string>

namespace mpc::tool {

/// A library that was looked for.
template <typename Table> struct GpuLibrary {
  const Table *table = nullptr; ///< Null if it is missing.
  std::string missing;          ///< Why.
};

/// NVIDIA's collective operations, as far as they are looked at here.
struct Nccl {
  int (*ncclGetVersion)(int *version); ///< 0 is success.
};

/// Everything a GPU is used through.
struct GpuLibraries {
  GpuLibrary<cuda::Driver> driver;
  GpuLibrary<cuda::CublasLt> cublaslt;
  GpuLibrary<cuda::Cudnn> cudnn;
  GpuLibrary<Nccl> nccl;
  /// The CUDA whose nvcc compiled mpc's own kernels, 13000 for 13.0; 0 if none
  /// did.
  int imagesVersion = 0;
};

/// Those of this machine.
GpuLibraries loadGpuLibraries();

/// What is there: "driver", "devices", "libraries", "kernels", mpc's own;
/// "ready", whether a program can be trained on a GPU; in "missing" what to
/// install, if anything; and in "notes" what works in a slower way. `tools` is
/// what describeGpuTools() found.
nlohmann::ordered_json
describeGpus(const GpuLibraries &libraries,
             const nlohmann::ordered_json &tools = nullptr);

/// File and version of nvcc and ptxas on the path, null for what is not there.
nlohmann::ordered_json describeGpuTools();

/// Prints both for people.
void printGpus(const nlohmann::ordered_json &gpus,
               const nlohmann::ordered_json &tools);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_BASE_GPU_H
