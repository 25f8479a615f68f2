// The cuDNN of this machine, told about a GPU that is not there: since version
// 9.8 it checks graphs, proposes engines and builds plans for the properties of
// a device alone. All is real but the handle; nothing can be executed.

#ifndef MPC_TEST_CUDA_DEVICELESS_CUDNN_H_
#define MPC_TEST_CUDA_DEVICELESS_CUDNN_H_

#include <cstddef>
#include <string>

#include "kernels/cuda/cudnn/cudnn.h"

namespace mpc::test {

struct DevicelessCudnn {
  // Null, and why in `*missing`, where cuDNN is absent or too old.
  static const cuda::Cudnn* find(std::string* missing);

  // Works for a GPU of this compute capability (90 is an H200); one at a time.
  DevicelessCudnn(const cuda::Cudnn& library, int compute_capability);
  ~DevicelessCudnn();
  DevicelessCudnn(const DevicelessCudnn&) = delete;

  const cuda::Cudnn* table() const;
  // Where the library did not accept the device, why.
  const std::string& error() const { return error_; }

 private:
  std::string error_;
};

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_DEVICELESS_CUDNN_H_
