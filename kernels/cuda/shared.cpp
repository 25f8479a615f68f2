#include "kernels/cuda/shared.h"

#include <cstdlib>
#include <utility>

#include "kernels/cuda/cudnn/cudnn_plan.h"

namespace mpc::kernels {

namespace {
// device_images() has machine code for sm_80 and sm_90, which later devices of
// the same major version run. Devices from here on need PTX.
constexpr int kFirstWithPtxAlone = 100;
}  // namespace

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
  cudnn_plans.clear();  // Before the handle with which they were made.
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
  const size_t needed = cublaslt_->cublasLtGetVersion() / 10000;
  const int driver = cuda::driver_version(*context.driver);
  if (driver > 0 && static_cast<size_t>(driver / 1000) < needed)
    *error += "; cuBLASLt " + std::to_string(needed) +
              " needs a driver of CUDA " + std::to_string(needed) +
              ", this one supports " + cuda::cuda_version_text(driver) +
              ": update it, or put libcublasLt.so." +
              std::to_string(driver / 1000) + " into LD_LIBRARY_PATH";
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

cuda::CUmodule CudaShared::load(const CudaContext& context,
                                const DeviceImage& image, std::string* error) {
  const auto load_from = [&](const void* data, cuda::CUmodule* module) {
    return driver_->cuModuleLoadDataEx(module, data, 0, nullptr, nullptr);
  };
  const auto describe = [&](cuda::CUresult result) {
    return describe_error(*driver_, "cuModuleLoadDataEx", result);
  };
  cuda::CUmodule module = nullptr;
  const cuda::CUresult refusal = load_from(image.data, &module);
  if (refusal == cuda::CUDA_SUCCESS) return module;
  *error = describe(refusal) + "; kernels of " + image.name;
  if (!cuda::refuses_code(refusal) || !image.ptx) return nullptr;
  const cuda::CUresult result = load_from(image.ptx, &module);
  if (result != cuda::CUDA_SUCCESS) {
    *error += "; their PTX: " + describe(result);
    return nullptr;
  }
  error->clear();
  // Newer devices run PTX anyway.
  if (context.compute_capability < kFirstWithPtxAlone)
    note_ =
        "mpc's built-in kernels are compiled from PTX because their machine "
        "code was rejected: " +
        describe(refusal);
  return module;
}

cuda::CUfunction CudaShared::function(const CudaContext& context,
                                      const char* name, std::string* error) {
  const std::vector<DeviceImage> images = device_images();
  if (images.empty()) {
    *error =
        "this build has no built-in CUDA kernels: nvcc was not found at build "
        "time";
    return nullptr;
  }
  driver_ = context.driver;
  for (size_t i = 0; i < images.size(); ++i) {
    if (i == modules_.size()) {
      const cuda::CUmodule module = load(context, images[i], error);
      if (!module) return nullptr;
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

std::string cuda_note(const CudaContext& context) {
  return context.shared->note();
}

void StoredChoice::store(const std::string& value) const {
  if (value.find_first_of(std::string("\t\n\0", 3)) == std::string::npos)
    caches->store(folder, file, key, value);
}

namespace {

std::string name_of(const CudaContext& context, const std::string& library,
                    size_t version) {
  return file_name_of(library + "-" + std::to_string(version) + "-" +
                      context.device_name + "-sm_" +
                      std::to_string(context.compute_capability));
}

}  // namespace

StoredChoice choice_in_table(const CudaContext& context,
                             const std::string& library, size_t version,
                             std::string key) {
  return {context.autotune_caches, context.cache_folder,
          name_of(context, library, version), std::move(key)};
}

StoredChoice choice_in_folder(const CudaContext& context,
                              const std::string& library, size_t version,
                              std::string key) {
  const std::string name = name_of(context, library, version);
  const std::string digest = digest_of(key);
  // Without a folder the name still distinguishes devices in memory.
  if (context.cache_folder.empty())
    return {context.autotune_caches, "", name + "-" + digest, std::move(key)};
  return {context.autotune_caches, context.cache_folder + "/" + name, digest,
          std::move(key)};
}

}  // namespace mpc::kernels
