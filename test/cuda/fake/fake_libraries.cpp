#include "test/cuda/fake/fake_libraries.h"

#include <stdlib.h>

#include <filesystem>
#include <utility>

#include "test/cuda/device_kernels.h"

namespace mpc::test {

FakeLibraries::FakeLibraries(FakeDriver* driver) {
  add_device_kernels(driver);
  cublaslt.queue = cudnn.queue = [driver](cuda::CUstream stream,
                                          std::function<void()> work) {
    return driver->enqueue(stream, std::move(work)) == cuda::CUDA_SUCCESS;
  };
  cuda::replace_cublaslt(cublaslt.table());
  cuda::replace_cudnn(cudnn.table());
  if (const char* before = ::getenv("XDG_CACHE_HOME")) cache_before_ = before;
  cache_ =
      (std::filesystem::temp_directory_path() / "mpc-fake-XXXXXX").string();
  if (::mkdtemp(cache_.data())) ::setenv("XDG_CACHE_HOME", cache_.c_str(), 1);
}

FakeLibraries::~FakeLibraries() {
  cuda::replace_cublaslt(nullptr);
  cuda::replace_cudnn(nullptr);
  if (cache_before_.empty())
    ::unsetenv("XDG_CACHE_HOME");
  else
    ::setenv("XDG_CACHE_HOME", cache_before_.c_str(), 1);
  std::error_code ignored;
  std::filesystem::remove_all(cache_, ignored);
}

}  // namespace mpc::test
