// The .cu files of this folder as nvcc compiled them: code for sm_80 and
// sm_90, and PTX for what is newer.

#ifndef MPC_KERNELS_CUDA_DEVICE_IMAGES_H_
#define MPC_KERNELS_CUDA_DEVICE_IMAGES_H_

#include <vector>

namespace mpc::kernels {

struct DeviceImage {
  const char* name;  // Of the file.
  const void* data;  // A fat binary, for cuModuleLoadDataEx.
};

// Empty where nvcc was not found when this was built.
std::vector<DeviceImage> device_images();

// What device_images returns from now on, for tests; null restores those of
// this build.
void replace_device_images(const std::vector<DeviceImage>* images);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_DEVICE_IMAGES_H_
