// cuBLASLt, cuDNN and the kernels of kernels/cuda/*.cu on a fake driver: with
// these, whole sessions run that multiply, convolve and pool. Work is queued on
// the driver's streams, so that it is done late and graphs can hold it.

#ifndef MPC_TEST_CUDA_FAKE_LIBRARIES_H_
#define MPC_TEST_CUDA_FAKE_LIBRARIES_H_

#include <functional>
#include <memory>
#include <vector>

#include "test/cuda/fake_cublaslt.h"
#include "test/cuda/fake_cudnn.h"
#include "test/cuda/fake_driver.h"

namespace mpc::test {

// What load_cublaslt() and load_cudnn() give out while this lives.
class FakeLibraries {
 public:
  explicit FakeLibraries(FakeDriver* driver);
  ~FakeLibraries();
  FakeLibraries(const FakeLibraries&) = delete;

  FakeCublasLt cublaslt;
  FakeCudnn cudnn;

 private:
  bool queue(cuda::CUstream stream, std::function<void()> work);
  // As libraries do: what the driver gave them goes with the last handle.
  void unload();

  FakeDriver& driver_;
  cuda::CUmodule module_ = nullptr;
  cuda::CUfunction function_ = nullptr;
  // A graph may do it at any later time.
  std::vector<std::unique_ptr<std::function<void()>>> queued_;
};

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_FAKE_LIBRARIES_H_
