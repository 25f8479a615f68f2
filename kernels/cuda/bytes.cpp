// copy and zero, by functions of the driver.

#include "kernels/cuda/families.h"

namespace mpc::kernels {
namespace {

class CudaBytes final : public CudaKernel {
 public:
  CudaBytes(bool copy, size_t bytes, const cuda::Driver* driver)
      : copy_(copy), bytes_(bytes), driver_(driver) {}

  std::string implementation() const override {
    return copy_ ? "cuMemcpyDtoDAsync" : "cuMemsetD8Async";
  }
  std::string enqueue(const cuda::CUdeviceptr* operands, cuda::CUdeviceptr,
                      cuda::CUstream stream) const override {
    if (bytes_ == 0) return "";
    const cuda::CUresult result =
        copy_ ? driver_->cuMemcpyDtoDAsync_v2(operands[1], operands[0], bytes_,
                                              stream)
              : driver_->cuMemsetD8Async(operands[0], 0, bytes_, stream);
    if (result == cuda::CUDA_SUCCESS) return "";
    return describe_error(
        *driver_, copy_ ? "cuMemcpyDtoDAsync_v2" : "cuMemsetD8Async", result);
  }

 private:
  bool copy_;
  size_t bytes_;
  const cuda::Driver* driver_;
};

}  // namespace

std::unique_ptr<CudaKernel> make_cuda_bytes(KernelId id, size_t bytes,
                                            const CudaContext& context) {
  return std::make_unique<CudaBytes>(id == KernelId::copy, bytes,
                                     context.driver);
}

}  // namespace mpc::kernels
