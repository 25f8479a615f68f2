#include "test/cuda/as_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "test/kernels/harness.h"

namespace mpc::test {
namespace {

using kernels::testing::element_count;

// Device memory that is freed at the end of a run.
class Memory {
 public:
  Memory(const cuda::Driver& driver, size_t bytes)
      : driver_(driver),
        failed_(bytes > 0 &&
                driver.cuMemAlloc_v2(&address_, bytes) != cuda::CUDA_SUCCESS) {}
  ~Memory() {
    if (address_) driver_.cuMemFree_v2(address_);
  }
  Memory(const Memory&) = delete;
  cuda::CUdeviceptr address() const { return address_; }
  bool failed() const { return failed_; }

 private:
  const cuda::Driver& driver_;
  cuda::CUdeviceptr address_ = 0;
  bool failed_;
};

// Garbage before and after an operand reveals out-of-bounds accesses; 256 bytes
// keep the alignment.
constexpr size_t kGuard = 256;

}  // namespace

bool AsKernel::run(void* const* operands, void*) const {
  const cuda::Driver& driver = *context_.driver;
  const auto failed = [](const std::string& what) {
    std::cerr << what << "\n";
    return false;
  };
  std::vector<std::unique_ptr<Memory>> memory;
  std::vector<cuda::CUdeviceptr> addresses;
  std::vector<std::vector<unsigned char>> host;
  for (size_t i = 0; i < desc_.operands.size(); ++i) {
    const kernels::TensorDesc& tensor = desc_.operands[i];
    const size_t bytes = element_count(tensor) * mpc_dtype_size(tensor.dtype);
    host.emplace_back(bytes + 2 * kGuard, 0xa5);
    std::copy_n(static_cast<unsigned char*>(operands[i]), bytes,
                host.back().data() + kGuard);
    memory.push_back(std::make_unique<Memory>(driver, host.back().size()));
    if (memory.back()->failed()) return failed("no memory for an operand");
    addresses.push_back(memory.back()->address() + kGuard);
    if (driver.cuMemcpyHtoDAsync_v2(memory.back()->address(),
                                    host.back().data(), host.back().size(),
                                    context_.stream) != cuda::CUDA_SUCCESS)
      return failed("an operand cannot be copied");
  }
  const Memory workspace(driver, kernel_->workspace_bytes());
  if (workspace.failed()) return failed("no memory for the workspace");
  const std::string error =
      kernel_->enqueue(addresses.data(), workspace.address(), context_.stream);
  if (!error.empty()) return failed(error);
  for (size_t i = 0; i < host.size(); ++i) {
    std::vector<unsigned char> result(host[i].size());
    if (driver.cuMemcpyDtoHAsync_v2(result.data(), memory[i]->address(),
                                    result.size(),
                                    context_.stream) != cuda::CUDA_SUCCESS)
      return failed("a result cannot be copied");
    if (driver.cuStreamSynchronize(context_.stream) != cuda::CUDA_SUCCESS)
      return failed("the work failed");
    const size_t bytes = result.size() - 2 * kGuard;
    for (size_t j = 0; j < kGuard; ++j)
      if (result[j] != 0xa5 || result[kGuard + bytes + j] != 0xa5)
        return failed("it wrote outside of operand " + std::to_string(i));
    if (i < kernels::testing::input_count(desc_)) {
      if (result != host[i])
        return failed("it wrote to input " + std::to_string(i));
      continue;
    }
    std::copy_n(result.data() + kGuard, bytes,
                static_cast<unsigned char*>(operands[i]));
  }
  return true;
}

std::unique_ptr<kernels::Kernel> must_make(
    const kernels::KernelDesc& desc, const kernels::CudaContext& context) {
  std::string error;
  auto kernel = kernels::make_cuda_kernel(desc, context, &error);
  EXPECT_TRUE(kernel) << kernels::testing::describe(desc, {1, false}) << ": "
                      << error;
  if (!kernel) return nullptr;
  return std::make_unique<AsKernel>(desc, context, std::move(kernel));
}

}  // namespace mpc::test
