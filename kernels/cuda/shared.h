// What kernels of one device have in common.

#ifndef MPC_KERNELS_CUDA_SHARED_H_
#define MPC_KERNELS_CUDA_SHARED_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/choices.h"
#include "kernels/cuda/kernel.h"

namespace mpc::kernels {

class CudnnPlan;

// Each member is made when it is first asked for, and kept. Dropped with the
// last kernel, while the CUDA context is still there.
struct CudaShared {
  CudaShared() = default;
  CudaShared(const CudaShared&) = delete;
  ~CudaShared();

  // Null, and why in `*error`, if the library is missing or refuses.
  cuda::cublasLtHandle_t cublaslt_handle(const CudaContext& context,
                                         std::string* error);
  cuda::cudnnHandle_t cudnn_handle(const CudaContext& context,
                                   std::string* error);

  // A kernel of this folder's .cu files, by name.
  cuda::CUfunction function(const CudaContext& context, const char* name,
                            std::string* error);

  // Choices by time with this version of a library on this kind of device.
  Choices& choices(const CudaContext& context, const std::string& library,
                   size_t version);

  // Those that were found, by what they compute.
  std::map<std::string, std::shared_ptr<const CudnnPlan>> cudnn_plans;

 private:
  const cuda::CublasLt* cublaslt_ = nullptr;
  cuda::cublasLtHandle_t cublaslt_handle_ = nullptr;
  const cuda::Cudnn* cudnn_ = nullptr;
  cuda::cudnnHandle_t cudnn_handle_ = nullptr;
  std::map<std::string, std::unique_ptr<Choices>> choices_;  // By file.
  const cuda::Driver* driver_ = nullptr;
  std::vector<cuda::CUmodule> modules_;  // As device_images() has them.
};

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_SHARED_H_
