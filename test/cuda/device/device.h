// A real device for tests of catalog kernels. Tests are skipped, with the
// reason, if there is no device or a library is missing.

#ifndef MPC_TEST_CUDA_DEVICE_DEVICE_H_
#define MPC_TEST_CUDA_DEVICE_DEVICE_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "kernels/cuda/driver/device_images.h"
#include "kernels/cuda/kernel.h"
#include "kernels/float_types.h"
#include "test/cuda/as_kernel.h"
#include "test/kernels/cases.h"

namespace mpc::test {

using namespace kernels;
using namespace kernels::testing;

// The first device, with a stream and a separate folder for caches; null if
// there is none, with the reason in `missing`.
class Device {
 public:
  Device()
      : folder_(std::filesystem::temp_directory_path() /
                ("mpc-cuda-kernels-test-" + std::to_string(::getpid()))) {
    context.cache_folder = folder_.string();
    const cuda::Driver* driver = cuda::load_driver(&missing);
    if (!driver) return;
    context.driver = driver;
    if (!open()) return;
    context.cublaslt = cuda::load_cublaslt(&context.cublaslt_missing);
    context.cudnn = cuda::load_cudnn(&context.cudnn_missing);
    missing.clear();
  }
  ~Device() { std::filesystem::remove_all(folder_); }

  CudaContext context;
  std::string missing;
  size_t free_bytes() const {
    size_t free = 0, total = 0;
    context.driver->cuMemGetInfo_v2(&free, &total);
    return free;
  }

 private:
  bool open() {
    const cuda::Driver& driver = *context.driver;
    int count = 0, major = 0, minor = 0;
    cuda::CUdevice device = 0;
    char name[256] = "";
    const auto works = [&](const char* call, cuda::CUresult result) {
      if (result != cuda::CUDA_SUCCESS)
        missing = describe_error(driver, call, result);
      return result == cuda::CUDA_SUCCESS;
    };
    if (!works("cuInit", driver.cuInit(0)) ||
        !works("cuDeviceGetCount", driver.cuDeviceGetCount(&count)))
      return false;
    if (count == 0) {
      missing = "no device";
      return false;
    }
    if (!works("cuDeviceGet", driver.cuDeviceGet(&device, 0)) ||
        !works("cuDeviceGetName",
               driver.cuDeviceGetName(name, sizeof name, device)) ||
        !works("cuDeviceGetAttribute",
               driver.cuDeviceGetAttribute(
                   &major, cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                   device)) ||
        !works("cuDeviceGetAttribute",
               driver.cuDeviceGetAttribute(
                   &minor, cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                   device)) ||
        !works("cuDevicePrimaryCtxRetain",
               driver.cuDevicePrimaryCtxRetain(&context.context, device)) ||
        !works("cuCtxSetCurrent", driver.cuCtxSetCurrent(context.context)) ||
        !works("cuStreamCreate",
               driver.cuStreamCreate(&context.stream,
                                     cuda::CU_STREAM_NON_BLOCKING)))
      return false;
    context.device_name = name;
    context.compute_capability = 10 * major + minor;
    return true;
  }

  std::filesystem::path folder_;
};

// Opened once, and never closed.
inline const Device& device() {
  static const Device* const opened = new Device;
  return *opened;
}

#define MPC_NEEDS_DEVICE() \
  if (!device().missing.empty()) GTEST_SKIP() << device().missing
#define MPC_NEEDS_CUBLASLT()      \
  MPC_NEEDS_DEVICE();             \
  if (!device().context.cublaslt) \
  GTEST_SKIP() << device().context.cublaslt_missing
#define MPC_NEEDS_CUDNN() \
  MPC_NEEDS_DEVICE();     \
  if (!device().context.cudnn) GTEST_SKIP() << device().context.cudnn_missing
#define MPC_NEEDS_IMAGES() \
  MPC_NEEDS_DEVICE();      \
  if (device_images().empty()) GTEST_SKIP() << "nvcc was not found"
#define MPC_NEEDS_MEMORY(bytes)        \
  if (device().free_bytes() < (bytes)) \
  GTEST_SKIP() << "needs " << (bytes) / (1 << 20) << " MiB free"

inline std::vector<Types> types() {
  std::vector<Types> all = {{MPC_DTYPE_F32, MPC_DTYPE_F32},
                            {MPC_DTYPE_F16, MPC_DTYPE_F16},
                            {MPC_DTYPE_F16, MPC_DTYPE_F32}};
  if (device().context.compute_capability >= 80) {
    all.push_back({MPC_DTYPE_BF16, MPC_DTYPE_BF16});
    all.push_back({MPC_DTYPE_BF16, MPC_DTYPE_F32});
  }
  return all;
}

// Deterministic kernels are made without trials, which would take minutes.
inline CudaContext untimed() {
  CudaContext context = device().context;
  context.deterministic = true;
  return context;
}

const std::vector<MatmulCase> kDeviceMatmuls = {
    {{127, 509}, {509, 251}, {127, 251}},
    {{1, 4099}, {4099, 3}, {1, 3}},
    {{256, 1024}, {1024, 384}, {256, 384}},
    {{130, 64, 65}, {130, 65, 33}, {130, 64, 33}},
};

template <typename Case>
inline std::vector<Case> all_of(std::vector<std::vector<Case>> lists) {
  std::vector<Case> all;
  for (const auto& list : lists)
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

inline std::string number_of(const ::testing::TestParamInfo<size_t>& info) {
  return std::to_string(info.param);
}

// Makes a kernel whose choice an earlier kernel timed and wrote to a file.
inline std::unique_ptr<Kernel> make_again(const KernelDesc& desc) {
  EXPECT_TRUE(must_make(desc, device().context));
  CudaContext again = device().context;
  again.shared = make_cuda_shared();
  again.autotune_caches = std::make_shared<AutotuneCaches>();
  auto kernel = must_make(desc, again);
  if (kernel) {
    EXPECT_NE(kernel->implementation().find("of an earlier trial"),
              std::string::npos)
        << kernel->implementation();
  }
  return kernel;
}

// Device memory for the tests below.
class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes) {
    EXPECT_EQ(driver().cuMemAlloc_v2(&address_, bytes), cuda::CUDA_SUCCESS);
  }
  ~Memory() { driver().cuMemFree_v2(address_); }
  Memory(const Memory&) = delete;
  cuda::CUdeviceptr address() const { return address_; }
  void write(size_t offset, const void* from, size_t bytes) const {
    EXPECT_EQ(driver().cuMemcpyHtoDAsync_v2(address_ + offset, from, bytes,
                                            device().context.stream),
              cuda::CUDA_SUCCESS);
  }
  std::vector<unsigned char> read() const {
    std::vector<unsigned char> bytes(bytes_);
    EXPECT_EQ(driver().cuMemcpyDtoHAsync_v2(bytes.data(), address_, bytes_,
                                            device().context.stream),
              cuda::CUDA_SUCCESS);
    EXPECT_EQ(driver().cuStreamSynchronize(device().context.stream),
              cuda::CUDA_SUCCESS);
    return bytes;
  }

 private:
  static const cuda::Driver& driver() { return *device().context.driver; }
  cuda::CUdeviceptr address_ = 0;
  size_t bytes_;
};

// Queues the kernel directly, then captures it in a graph that is launched
// three times; expects identical bits each time.
inline void expect_same_in_graphs(const KernelDesc& desc,
                                  const CudaContext& context) {
  SCOPED_TRACE(describe(desc, {1, false}));
  const cuda::Driver& driver = *context.driver;
  std::string error;
  const auto kernel = make_cuda_kernel(desc, context, &error);
  ASSERT_TRUE(kernel) << error;
  std::vector<std::unique_ptr<Memory>> memory;
  std::vector<cuda::CUdeviceptr> operands;
  for (size_t i = 0; i < desc.operands.size(); ++i) {
    const TensorDesc& tensor = desc.operands[i];
    const Buffer values = make_tensor(
        tensor, uniform(static_cast<int>(i), element_count(tensor)));
    memory.push_back(std::make_unique<Memory>(values.size()));
    memory.back()->write(0, values.data(), values.size());
    memory.back()->read();  // Waits, because `values` is destroyed.
    operands.push_back(memory.back()->address());
  }
  const Memory workspace(kernel->workspace_bytes() + 1);
  const Memory& result = *memory.back();
  ASSERT_EQ(
      kernel->enqueue(operands.data(), workspace.address(), context.stream),
      "");
  const std::vector<unsigned char> expected = result.read();

  cuda::CUgraph graph = nullptr;
  cuda::CUgraphExec executable = nullptr;
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(
                context.stream, cuda::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            cuda::CUDA_SUCCESS);
  EXPECT_EQ(
      kernel->enqueue(operands.data(), workspace.address(), context.stream),
      "");
  ASSERT_EQ(driver.cuStreamEndCapture(context.stream, &graph),
            cuda::CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&executable, graph, 0),
            cuda::CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(driver.cuMemsetD8Async(result.address(), 0xfb, expected.size(),
                                     context.stream),
              cuda::CUDA_SUCCESS);
    ASSERT_EQ(driver.cuGraphLaunch(executable, context.stream),
              cuda::CUDA_SUCCESS);
    EXPECT_TRUE(result.read() == expected);
  }
  driver.cuGraphExecDestroy(executable);
  driver.cuGraphDestroy(graph);
}

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_DEVICE_DEVICE_H_
