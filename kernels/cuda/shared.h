// What kernels of one device have in common.

#ifndef MPC_KERNELS_CUDA_SHARED_H_
#define MPC_KERNELS_CUDA_SHARED_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cuda/choices.h"
#include "kernels/cuda/driver/device_images.h"
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

  // What is not as it should be with the code of this folder's .cu files, for
  // people; empty if nothing is.
  const std::string& note() const { return note_; }

  // Those that were found, by what they compute.
  std::map<std::string, std::shared_ptr<const CudnnPlan>> cudnn_plans;

 private:
  cuda::CUmodule load(const CudaContext& context, const DeviceImage& image,
                      std::string* error);

  const cuda::CublasLt* cublaslt_ = nullptr;
  cuda::cublasLtHandle_t cublaslt_handle_ = nullptr;
  const cuda::Cudnn* cudnn_ = nullptr;
  cuda::cudnnHandle_t cudnn_handle_ = nullptr;
  const cuda::Driver* driver_ = nullptr;
  std::vector<cuda::CUmodule> modules_;  // As device_images() has them.
  std::string note_;
};

// A choice by time, and where it is kept for the process and for later ones.
struct KeptChoice {
  std::shared_ptr<ChoiceStore> store;
  std::string folder, file, key;

  std::optional<std::string> find() const {
    return store->find(folder, file, key);
  }
  // Text that no line can hold is not kept.
  void keep(const std::string& value) const;
};

// Choices with this version of a library on this kind of device: all in one
// file, or, where values are long, a file for each in a folder.
KeptChoice choice_in_table(const CudaContext& context,
                           const std::string& library, size_t version,
                           std::string key);
KeptChoice choice_in_folder(const CudaContext& context,
                            const std::string& library, size_t version,
                            std::string key);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_SHARED_H_
