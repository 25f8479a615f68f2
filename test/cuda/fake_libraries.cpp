#include "test/cuda/fake_libraries.h"

#include <utility>

#include "test/cuda/device_kernels.h"
#include "test/cuda/test_images.h"

namespace mpc::test {
namespace {

constexpr char kName[] = "mpc_test_library_work";

void do_work(std::function<void()>* work) { (*work)(); }

}  // namespace

FakeLibraries::FakeLibraries(FakeDriver* driver) : driver_(*driver) {
  set_images(true);
  add_device_kernels(driver);
  driver->add_kernel(kName, do_work);
  cublaslt.queue =
      cudnn.queue = [this](cuda::CUstream stream, std::function<void()> work) {
        return queue(stream, std::move(work));
      };
  cublaslt.destroyed = cudnn.destroyed = [this] { unload(); };
  cuda::replace_cublaslt(cublaslt.table());
  cuda::replace_cudnn(cudnn.table());
}

FakeLibraries::~FakeLibraries() {
  cuda::replace_cublaslt(nullptr);
  cuda::replace_cudnn(nullptr);
}

bool FakeLibraries::queue(cuda::CUstream stream, std::function<void()> work) {
  const cuda::Driver& driver = driver_.table();
  if (!module_ &&
      driver.cuModuleLoadDataEx(&module_, "of a library", 0, nullptr,
                                nullptr) != cuda::CUDA_SUCCESS) {
    module_ = nullptr;
    return false;
  }
  if (!function_ && driver.cuModuleGetFunction(&function_, module_, kName) !=
                        cuda::CUDA_SUCCESS) {
    function_ = nullptr;
    return false;
  }
  queued_.push_back(std::make_unique<std::function<void()>>(std::move(work)));
  std::function<void()>* parameter = queued_.back().get();
  void* parameters[] = {&parameter};
  return driver.cuLaunchKernel(function_, 1, 1, 1, 1, 1, 1, 0, stream,
                               parameters, nullptr) == cuda::CUDA_SUCCESS;
}

void FakeLibraries::unload() {
  if (cublaslt.handles + cudnn.handles > 0 || !module_) return;
  driver_.table().cuModuleUnload(module_);
  module_ = nullptr;
  function_ = nullptr;
}

}  // namespace mpc::test
