// Plans for convolutions by cuDNN.

#ifndef MPC_KERNELS_CUDA_CUDNN_CONV_PLAN_H_
#define MPC_KERNELS_CUDA_CUDNN_CONV_PLAN_H_

#include <memory>
#include <string>

#include "kernels/cuda/cudnn/conv_problem.h"
#include "kernels/cuda/cudnn/cudnn_plan.h"

namespace mpc::kernels {

// The plan for this problem; its tensors are x, w, y and, if there is one, the
// bias. Errors are reported as by find_cudnn_plan.
std::shared_ptr<const CudnnPlan> find_conv_plan(const CudaContext& context,
                                                const ConvProblem& problem,
                                                bool* unsupported,
                                                std::string* error);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_CUDNN_CONV_PLAN_H_
