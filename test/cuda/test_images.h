// Stands in for the code from nvcc, so that the simulator's kernels can be
// tested without nvcc.

#ifndef MPC_TEST_CUDA_TEST_IMAGES_H_
#define MPC_TEST_CUDA_TEST_IMAGES_H_

#include "kernels/cuda/driver/device_images.h"

namespace mpc::test {

// While it exists, device_images() has one image or none. Only one object may
// exist at a time.
class TestImages {
 public:
  TestImages() { set(true); }
  ~TestImages() { kernels::replace_device_images(nullptr); }
  TestImages(const TestImages&) = delete;

  const kernels::DeviceImage& image() const { return images_[0]; }

  void set(bool present) {
    images_.clear();
    if (present)
      images_.push_back({"pool.cu", "all kernels", "the PTX of all kernels"});
    kernels::replace_device_images(&images_);
  }

 private:
  std::vector<kernels::DeviceImage> images_;
};

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_TEST_IMAGES_H_
