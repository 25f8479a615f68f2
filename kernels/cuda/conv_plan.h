// A convolution made ready by cuDNN: the fastest engine that computes it with
// sums in f32.

#ifndef MPC_KERNELS_CUDA_CONV_PLAN_H_
#define MPC_KERNELS_CUDA_CONV_PLAN_H_

#include <memory>
#include <string>

#include "kernels/cuda/conv_problem.h"
#include "kernels/cuda/kernel.h"

namespace mpc::kernels {

class ConvPlan {
 public:
  virtual ~ConvPlan() = default;
  // "engine 12, 31.0 us, fastest of 6".
  virtual std::string description() const = 0;
  virtual size_t workspace_bytes() const = 0;
  // Addresses of the problem's tensors; that of the bias is not used without
  // one. Returns what failed.
  struct Addresses {
    cuda::CUdeviceptr x, w, y, bias;
  };
  virtual std::string run(const Addresses& addresses,
                          cuda::CUdeviceptr workspace,
                          cuda::CUstream stream) const = 0;
};

// The plan for this problem, made once per device. Null, and why in `*error`:
// with `*unsupported` set if cuDNN has no engine for it, so that another form
// of the problem may be tried.
std::shared_ptr<const ConvPlan> find_conv_plan(const CudaContext& context,
                                               const ConvProblem& problem,
                                               bool* unsupported,
                                               std::string* error);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_CONV_PLAN_H_
