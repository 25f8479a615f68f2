#include "kernels/cuda/shared.h"

#include <cstdlib>

#include "kernels/cuda/cudnn_plan.h"
#include "kernels/cuda/device_images.h"

namespace mpc::kernels {

std::shared_ptr<CudaShared> make_cuda_shared() {
  return std::make_shared<CudaShared>();
}

std::string CudaContext::default_cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && cache[0] == '/') return std::string(cache) + "/mpc";
  const char* home = std::getenv("HOME");
  if (home && home[0] == '/') return std::string(home) + "/.cache/mpc";
  return "";
}

CudaShared::~CudaShared() {
  cudnn_plans.clear();  // Before the handle that they were made with.
  if (cublaslt_handle_) cublaslt_->cublasLtDestroy(cublaslt_handle_);
  if (cudnn_handle_) cudnn_->cudnnDestroy(cudnn_handle_);
  for (cuda::CUmodule module : modules_) driver_->cuModuleUnload(module);
}

cuda::cublasLtHandle_t CudaShared::cublaslt_handle(const CudaContext& context,
                                                   std::string* error) {
  if (!context.cublaslt) {
    *error = "cuBLASLt is missing: " + context.cublaslt_missing;
    return nullptr;
  }
  if (cublaslt_handle_) return cublaslt_handle_;
  cublaslt_ = context.cublaslt;
  const cuda::cublasStatus_t status =
      cublaslt_->cublasLtCreate(&cublaslt_handle_);
  if (status == cuda::CUBLAS_STATUS_SUCCESS) return cublaslt_handle_;
  cublaslt_handle_ = nullptr;
  *error = describe_error(*cublaslt_, "cublasLtCreate", status);
  return nullptr;
}

cuda::cudnnHandle_t CudaShared::cudnn_handle(const CudaContext& context,
                                             std::string* error) {
  if (!context.cudnn) {
    *error = "cuDNN is missing: " + context.cudnn_missing;
    return nullptr;
  }
  if (cudnn_handle_) return cudnn_handle_;
  cudnn_ = context.cudnn;
  const cuda::cudnnStatus_t status = cudnn_->cudnnCreate(&cudnn_handle_);
  if (status == cuda::CUDNN_STATUS_SUCCESS) return cudnn_handle_;
  cudnn_handle_ = nullptr;
  *error = describe_error(*cudnn_, "cudnnCreate", status);
  return nullptr;
}

cuda::CUfunction CudaShared::function(const CudaContext& context,
                                      const char* name, std::string* error) {
  const std::vector<DeviceImage> images = device_images();
  if (images.empty()) {
    *error =
        "this build has no CUDA kernels of its own: nvcc was not found when "
        "it was built";
    return nullptr;
  }
  driver_ = context.driver;
  for (size_t i = 0; i < images.size(); ++i) {
    if (i == modules_.size()) {
      cuda::CUmodule module;
      const cuda::CUresult result = driver_->cuModuleLoadDataEx(
          &module, images[i].data, 0, nullptr, nullptr);
      if (result != cuda::CUDA_SUCCESS) {
        *error = describe_error(*driver_, "cuModuleLoadDataEx", result) +
                 "; kernels of " + images[i].name;
        return nullptr;
      }
      modules_.push_back(module);
    }
    cuda::CUfunction function = nullptr;
    const cuda::CUresult result =
        driver_->cuModuleGetFunction(&function, modules_[i], name);
    if (result == cuda::CUDA_SUCCESS) return function;
    *error = describe_error(*driver_, "cuModuleGetFunction", result) +
             "; kernel " + name;
    if (result != cuda::CUDA_ERROR_NOT_FOUND) return nullptr;
  }
  return nullptr;
}

Choices& CudaShared::choices(const CudaContext& context,
                             const std::string& library, size_t version) {
  const std::string file = file_name_of(
      library + "-" + std::to_string(version) + "-" + context.device_name +
      "-sm_" + std::to_string(context.compute_capability));
  std::unique_ptr<Choices>& choices = choices_[file];
  if (!choices) choices = std::make_unique<Choices>(context.cache_folder, file);
  return *choices;
}

}  // namespace mpc::kernels
