// Fakes of cuBLASLt, cuDNN and the kernels of kernels/cuda/*.cu on a fake
// driver, with which whole sessions can multiply, convolve and pool. Work is
// queued on the driver's streams, so that it runs late and can be captured in
// graphs.

#ifndef MPC_TEST_CUDA_FAKE_LIBRARIES_H_
#define MPC_TEST_CUDA_FAKE_LIBRARIES_H_

#include <string>

#include "test/cuda/fake/fake_cublaslt.h"
#include "test/cuda/fake/fake_cudnn.h"
#include "test/cuda/fake/fake_driver.h"
#include "test/cuda/test_images.h"

namespace mpc::test {

// While it exists, load_cublaslt() and load_cudnn() return these fakes.
class FakeLibraries {
 public:
  explicit FakeLibraries(FakeDriver* driver);
  ~FakeLibraries();
  FakeLibraries(const FakeLibraries&) = delete;

  FakeCublasLt cublaslt;
  FakeCudnn cudnn;

 private:
  TestImages images_;
  // Choices of algorithms are stored here and not in the user's cache folder.
  std::string cache_, cache_before_;
};

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_FAKE_LIBRARIES_H_
