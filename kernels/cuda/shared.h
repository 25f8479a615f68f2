// State shared by the kernels of one device.

#ifndef MPC_KERNELS_CUDA_SHARED_H_
#define MPC_KERNELS_CUDA_SHARED_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cuda/autotune_cache.h"
#include "kernels/cuda/driver/device_images.h"
#include "kernels/cuda/kernel.h"

namespace mpc::kernels {

class CudnnPlan;

// Each member is created on first use and kept. Destroyed with the last kernel,
// before the CUDA context.
struct CudaShared {
  CudaShared() = default;
  CudaShared(const CudaShared&) = delete;
  ~CudaShared();

  // Null, with the reason in `*error`, if the library is missing or fails.
  cuda::cublasLtHandle_t cublaslt_handle(const CudaContext& context,
                                         std::string* error);
  cuda::cudnnHandle_t cudnn_handle(const CudaContext& context,
                                   std::string* error);

  // A kernel of the .cu files, by name.
  cuda::CUfunction function(const CudaContext& context, const char* name,
                            std::string* error);

  // A problem with the code of the .cu files, as text; "" if there is none.
  const std::string& note() const { return note_; }

  // The plans found so far, by the key of their request.
  std::map<std::string, std::shared_ptr<const CudnnPlan>> cudnn_plans;

 private:
  cuda::CUmodule load(const CudaContext& context, const DeviceImage& image,
                      std::string* error);

  const cuda::CublasLt* cublaslt_ = nullptr;
  cuda::cublasLtHandle_t cublaslt_handle_ = nullptr;
  const cuda::Cudnn* cudnn_ = nullptr;
  cuda::cudnnHandle_t cudnn_handle_ = nullptr;
  const cuda::Driver* driver_ = nullptr;
  std::vector<cuda::CUmodule> modules_;  // In the order of device_images().
  std::string note_;
};

// A choice by timing, and where it is stored for this process and later ones.
struct StoredChoice {
  std::shared_ptr<AutotuneCaches> caches;
  std::string folder, file, key;

  std::optional<std::string> find() const {
    return caches->find(folder, file, key);
  }
  // Does not store text that does not fit in a line.
  void store(const std::string& value) const;
};

// Choices for this version of a library on this kind of device: all in one file
// or, for long values, one file each in a folder.
StoredChoice choice_in_table(const CudaContext& context,
                             const std::string& library, size_t version,
                             std::string key);
StoredChoice choice_in_folder(const CudaContext& context,
                              const std::string& library, size_t version,
                              std::string key);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_SHARED_H_
