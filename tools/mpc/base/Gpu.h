//===- Gpu.h - GPU support of this machine ----------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_BASE_GPU_H
#define MPC_TOOLS_MPC_BASE_GPU_H

#include "kernels/cuda/cublaslt/cublaslt.h"
#include "kernels/cuda/cudnn/cudnn.h"
#include "kernels/cuda/driver/driver.h"
#include "kernels/cuda/nccl/nccl.h"

#include <nlohmann/json.hpp>

#include <string>

namespace mpc::tool {

/// A library that may be installed.
template <typename Table> struct GpuLibrary {
  const Table *table = nullptr; ///< Null if it is missing.
  std::string missing;          ///< Why it is missing.
};

/// The libraries for using a GPU.
struct GpuLibraries {
  GpuLibrary<cuda::Driver> driver;
  GpuLibrary<cuda::CublasLt> cublaslt;
  GpuLibrary<cuda::Cudnn> cudnn;
  GpuLibrary<cuda::Nccl> nccl;
  /// The CUDA version of the nvcc that compiled mpc's own kernels, 13000 for
  /// 13.0; 0 if they were not compiled.
  int imagesVersion = 0;
};

/// Loads the libraries of this machine.
GpuLibraries loadGpuLibraries();

/// Describes the GPU support of this machine: "driver", "devices", "libraries",
/// "kernels" (mpc's own), "ready" (whether a program can be trained on a GPU),
/// "missing" (what to install, if anything) and "notes" (what works, but more
/// slowly). `tools` is the result of describeGpuTools().
nlohmann::ordered_json
describeGpus(const GpuLibraries &libraries,
             const nlohmann::ordered_json &tools = nullptr);

/// File and version of nvcc and ptxas on the path, null for a missing one.
nlohmann::ordered_json describeGpuTools();

/// Prints both descriptions for people.
void printGpus(const nlohmann::ordered_json &gpus,
               const nlohmann::ordered_json &tools);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_BASE_GPU_H
