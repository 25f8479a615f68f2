#include "test/cuda/programs/simulated.h"

#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/kernel.h"
#include "test/cuda/fake_driver.h"

namespace mpc::test {

namespace {

FakeDriver* current = nullptr;

// The reference, queued.
class QueuedReference : public kernels::CudaKernel {
 public:
  QueuedReference(std::shared_ptr<const kernels::Kernel> kernel, size_t count)
      : kernel_(std::move(kernel)), count_(count) {}

  std::string implementation() const override { return "reference"; }

  std::string enqueue(const cuda::CUdeviceptr* operands, cuda::CUdeviceptr,
                      cuda::CUstream stream) const override {
    std::vector<void*> addresses;
    for (size_t i = 0; i < count_; ++i)
      addresses.push_back(reinterpret_cast<void*>(operands[i]));
    auto work = [kernel = kernel_, addresses] {
      kernel->run(addresses.data(), nullptr);
    };
    return current->enqueue(stream, work) == cuda::CUDA_SUCCESS
               ? ""
               : "the stream takes no work";
  }

 private:
  std::shared_ptr<const kernels::Kernel> kernel_;
  size_t count_;
};

std::unique_ptr<kernels::CudaKernel> make_queued(
    const kernels::KernelDesc& desc) {
  // Copies are the driver's.
  if (desc.id == kernels::KernelId::copy || desc.id == kernels::KernelId::zero)
    return nullptr;
  std::string error;
  std::shared_ptr<const kernels::Kernel> kernel =
      kernels::make_reference_kernel(desc, &error);
  if (!kernel) return nullptr;
  return std::make_unique<QueuedReference>(kernel, desc.operands.size());
}

FakeDriverOptions simulator() {
  FakeDriverOptions options;
  options.architecture = "sim";
  return options;
}

}  // namespace

struct SimulatedDevice::Parts {
  FakeDriver driver{simulator()};
};

SimulatedDevice::SimulatedDevice() : parts_(std::make_unique<Parts>()) {
  current = &parts_->driver;
  kernels::replace_cuda_kernels(make_queued);
}

SimulatedDevice::~SimulatedDevice() {
  kernels::replace_cuda_kernels(nullptr);
  current = nullptr;
}

}  // namespace mpc::test
