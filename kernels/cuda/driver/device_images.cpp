#include "kernels/cuda/driver/device_images.h"

// CMake defines the paths of the files if nvcc made them. The assembler
// includes their bytes, which is much faster than compiling them as arrays of
// numbers.
#ifdef MPC_CUDA_IMAGES
#define MPC_CUDA_BYTES(name, path)                 \
  asm(".section .rodata\n"                         \
      ".balign 64\n"                               \
      ".hidden mpc_cuda_image_" #name              \
      "\n"                                         \
      ".globl mpc_cuda_image_" #name               \
      "\n"                                         \
      "mpc_cuda_image_" #name                      \
      ":\n"                                        \
      ".incbin \"" path                            \
      "\"\n"                                       \
      ".previous\n");                              \
  extern "C" __attribute__((visibility("hidden"))) \
  const unsigned char mpc_cuda_image_##name[];
#define MPC_CUDA_IMAGE(name, code, ptx) \
  MPC_CUDA_BYTES(name, code)            \
  MPC_CUDA_BYTES(name##_ptx, ptx)
#include MPC_CUDA_IMAGES
#undef MPC_CUDA_IMAGE
#undef MPC_CUDA_BYTES
#endif

namespace mpc::kernels {

namespace {
const std::vector<DeviceImage>* replacement = nullptr;
}

void replace_device_images(const std::vector<DeviceImage>* images) {
  replacement = images;
}

int device_images_version() {
#ifdef MPC_CUDA_IMAGES_VERSION
  return MPC_CUDA_IMAGES_VERSION;
#else
  return 0;
#endif
}

std::vector<DeviceImage> device_images() {
  if (replacement) return *replacement;
  return {
#ifdef MPC_CUDA_IMAGES
#define MPC_CUDA_IMAGE(name, code, ptx) \
  {#name ".cu", mpc_cuda_image_##name, mpc_cuda_image_##name##_ptx},
#include MPC_CUDA_IMAGES
#undef MPC_CUDA_IMAGE
#endif
  };
}

}  // namespace mpc::kernels
