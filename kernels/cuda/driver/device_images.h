// The .cu files of kernels/cuda/kernels, compiled by nvcc: code for sm_80 and
// sm_90, and PTX for newer devices and older drivers.

#ifndef MPC_KERNELS_CUDA_DRIVER_DEVICE_IMAGES_H_
#define MPC_KERNELS_CUDA_DRIVER_DEVICE_IMAGES_H_

#include <vector>

namespace mpc::kernels {

struct DeviceImage {
  const char* name;  // Name of the file.
  const void* data;  // A fat binary, for cuModuleLoadDataEx.
  // A fat binary of PTX in a version that drivers support since CUDA 11.0, for
  // drivers and devices that do not accept `data`; null if there is none.
  const void* ptx = nullptr;
};

// Empty if nvcc was not found at build time.
std::vector<DeviceImage> device_images();

// The CUDA version of the nvcc that compiled them, 13000 for 13.0; 0 if there
// was none.
int device_images_version();

// Sets the images that device_images returns from now on, for tests; null
// restores those of this build.
void replace_device_images(const std::vector<DeviceImage>* images);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_DRIVER_DEVICE_IMAGES_H_
