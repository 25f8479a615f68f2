// Statistics of a tensor, and the effect of rounding it, by the kernels of
// observe.cu, one block each.

#include <string>
#include <utility>

#include "kernels/cuda/driver/launch.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/shared.h"

namespace mpc::kernels {
namespace {

class CudaObserve final : public CudaKernel {
 public:
  CudaObserve(const CudaContext& context, std::string name,
              cuda::CUfunction function, int64_t count, size_t operands)
      : context_(context),
        name_(std::move(name)),
        function_(function),
        count_(count),
        operands_(operands) {}

  std::string implementation() const override { return name_; }
  std::string enqueue(const cuda::CUdeviceptr* operands, cuda::CUdeviceptr,
                      cuda::CUstream stream) const override {
    int64_t count = count_;
    cuda::CUdeviceptr addresses[3] = {};
    void* parameters[4] = {&count};
    for (size_t i = 0; i < operands_; ++i) {
      addresses[i] = operands[i];
      parameters[i + 1] = &addresses[i];
    }
    return launch(*context_.driver, function_, kBlockThreads, stream,
                  parameters);
  }

 private:
  const CudaContext context_;  // A copy, which keeps the module.
  const std::string name_;
  const cuda::CUfunction function_;
  const int64_t count_;
  const size_t operands_;
};

}  // namespace

std::unique_ptr<CudaKernel> make_cuda_observe(KernelId id,
                                              const ObserveShape& shape,
                                              const CudaContext& context,
                                              std::string* error) {
  if (shape.gradient_dtype != shape.dtype) {
    *error = std::string("value and gradient must be of one type, found ") +
             mpc_dtype_name(shape.dtype) + " and " +
             mpc_dtype_name(shape.gradient_dtype);
    return nullptr;
  }
  const std::string name =
      std::string("mpc_") + kernel_name(id) + "_" + mpc_dtype_name(shape.dtype);
  const cuda::CUfunction function =
      context.shared->function(context, name.c_str(), error);
  if (!function) return nullptr;
  return std::make_unique<CudaObserve>(context, name, function, shape.count,
                                       id == KernelId::observe ? 2 : 3);
}

}  // namespace mpc::kernels
