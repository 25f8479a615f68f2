// Pooling by the kernels of pool.cu, which give the same bits as the reference.
// cuDNN's max pooling neither returns indices nor treats NaN as the largest.

#include <string>
#include <utility>

#include "kernels/cuda/driver/launch.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/kernels/pool_params.h"
#include "kernels/cuda/shared.h"

namespace mpc::kernels {
namespace {

class CudaPool final : public CudaKernel {
 public:
  CudaPool(const CudaContext& context, std::string name,
           cuda::CUfunction function, const PoolParams& params, size_t operands)
      : context_(context),
        name_(std::move(name)),
        function_(function),
        params_(params),
        operands_(operands) {}

  std::string implementation() const override { return name_; }
  std::string enqueue(const cuda::CUdeviceptr* operands, cuda::CUdeviceptr,
                      cuda::CUstream stream) const override {
    PoolParams params = params_;
    cuda::CUdeviceptr addresses[3] = {};
    void* parameters[4] = {&params};
    for (size_t i = 0; i < operands_; ++i) {
      addresses[i] = operands[i];
      parameters[i + 1] = &addresses[i];
    }
    return launch(*context_.driver, function_, params.elements, stream,
                  parameters);
  }

 private:
  const CudaContext context_;  // A copy, which keeps the module.
  const std::string name_;
  const cuda::CUfunction function_;
  const PoolParams params_;
  const size_t operands_;
};

// False if a coordinate may not fit 32 bits.
bool params_of(bool forward, const PoolShape& s, PoolParams* params) {
  const std::array<int64_t, 2>& result = forward ? s.output : s.input;
  params->elements = s.batch * s.channels * result[0] * result[1];
  params->channels = static_cast<int32_t>(s.channels);
  params->channels_last = s.channels_last;
  params->count_include_pad = s.count_include_pad;
  for (int d = 0; d < 2; ++d) {
    const Window& w = s.window;
    // The extent including pads, one more than the last coordinate of a window.
    if (s.input[d] + w.pads_begin[d] + w.pads_end[d] >= INT32_MAX) return false;
    params->input[d] = static_cast<int32_t>(s.input[d]);
    params->output[d] = static_cast<int32_t>(s.output[d]);
    params->kernel[d] = static_cast<int32_t>(w.kernel[d]);
    params->strides[d] = static_cast<int32_t>(w.strides[d]);
    params->dilations[d] = static_cast<int32_t>(w.dilations[d]);
    params->pads[d] = static_cast<int32_t>(w.pads_begin[d]);
  }
  return true;
}

}  // namespace

std::unique_ptr<CudaKernel> make_cuda_pool(KernelId id, const PoolShape& shape,
                                           const CudaContext& context,
                                           std::string* error) {
  const bool forward = id == KernelId::max_pool || id == KernelId::average_pool;
  const bool has_indices =
      id == KernelId::max_pool || id == KernelId::max_pool_grad;
  const std::string name =
      std::string("mpc_") + kernel_name(id) + "_" + mpc_dtype_name(shape.dtype);
  PoolParams params;
  if (!params_of(forward, shape, &params)) {
    *error = "an image with its pads must be smaller than 2^31 - 1";
    return nullptr;
  }
  const cuda::CUfunction function =
      context.shared->function(context, name.c_str(), error);
  if (!function) return nullptr;
  return std::make_unique<CudaPool>(context, name, function, params,
                                    has_indices ? 3 : 2);
}

}  // namespace mpc::kernels
