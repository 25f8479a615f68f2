// The cuDNN of this machine, used for a GPU that does not exist: since
// version 9.8 it checks graphs, proposes engines and builds plans from the
// properties of a device. Everything except the handle is real; nothing can be
// executed.

#ifndef MPC_TEST_CUDA_DEVICELESS_CUDNN_H_
#define MPC_TEST_CUDA_DEVICELESS_CUDNN_H_

#include <cstddef>
#include <string>

#include "kernels/cuda/cudnn/cudnn.h"

namespace mpc::test {

struct DevicelessCudnn {
  // Null if cuDNN is missing or too old, with the reason in `*missing`.
  static const cuda::Cudnn* find(std::string* missing);

  // Works for a GPU of this compute capability (90 for an H200). Only one
  // object may exist at a time.
  DevicelessCudnn(const cuda::Cudnn& library, int compute_capability);
  ~DevicelessCudnn();
  DevicelessCudnn(const DevicelessCudnn&) = delete;

  const cuda::Cudnn* table() const;
  // Why the library did not accept the device; "" if it did.
  const std::string& error() const { return error_; }

 private:
  std::string error_;
};

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_DEVICELESS_CUDNN_H_
