// The .cu files of this folder as nvcc compiled them: code for sm_80 and
// sm_90, and PTX for newer devices and older drivers.

#ifndef MPC_KERNELS_CUDA_DRIVER_DEVICE_IMAGES_H_
#define MPC_KERNELS_CUDA_DRIVER_DEVICE_IMAGES_H_

#include <vector>

namespace mpc::kernels {

struct DeviceImage {
  const char* name;  // Name of the file.
  const void* data;  // A fat binary, for cuModuleLoadDataEx.
  // One of PTX whose version drivers know since CUDA 11.0; null if there is
  // none. It is for drivers and devices that do not take `data`.
  const void* ptx = nullptr;
};

// Empty where nvcc was not found when this was built.
std::vector<DeviceImage> device_images();

// The CUDA whose nvcc compiled them, 13000 for 13.0; 0 where there was none.
int device_images_version();

// What device_images returns from now on, for tests; null restores those of
// this build.
void replace_device_images(const std::vector<DeviceImage>* images);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_DRIVER_DEVICE_IMAGES_H_
