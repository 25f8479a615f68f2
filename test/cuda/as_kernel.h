// Wraps a CUDA kernel as a CPU kernel, for the harness of test/kernels:
// operands are copied to the device and back.

#ifndef MPC_TEST_CUDA_AS_KERNEL_H_
#define MPC_TEST_CUDA_AS_KERNEL_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/kernel.h"
#include "kernels/kernel.h"

namespace mpc::test {

class AsKernel final : public kernels::Kernel {
 public:
  AsKernel(const kernels::KernelDesc& desc, const kernels::CudaContext& context,
           std::unique_ptr<kernels::CudaKernel> kernel)
      : desc_(desc), context_(context), kernel_(std::move(kernel)) {}

  std::string implementation() const override {
    return kernel_->implementation();
  }
  // Prints to std::cerr what failed.
  bool run(void* const* operands, void* scratch) const override;

 private:
  kernels::KernelDesc desc_;
  kernels::CudaContext context_;
  std::unique_ptr<kernels::CudaKernel> kernel_;
};

// Makes the kernel, or fails the test with the reason.
std::unique_ptr<kernels::Kernel> must_make(const kernels::KernelDesc& desc,
                                           const kernels::CudaContext& context);

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_AS_KERNEL_H_
