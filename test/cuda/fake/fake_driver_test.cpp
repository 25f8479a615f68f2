// Properties of the fake driver that other tests rely on.

#include "test/cuda/fake/fake_driver.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "test/device_sim/abi.h"

namespace mpc::test {
namespace {

using namespace mpc::cuda;

// A driver with a context and a stream.
class FakeCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUdevice device;
    EXPECT_EQ(driver.cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuDeviceGet(&device, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
              CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(driver.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    EXPECT_EQ(fake.leaks(), "");
  }
  CUdeviceptr take(size_t bytes) {
    CUdeviceptr memory = 0;
    EXPECT_EQ(driver.cuMemAlloc_v2(&memory, bytes), CUDA_SUCCESS);
    return memory;
  }
  static float first(CUdeviceptr memory) {
    return *reinterpret_cast<float*>(memory);
  }

  FakeDriver fake;
  const Driver& driver = fake.table();
  CUcontext context = nullptr;
  CUstream stream = nullptr;
};

TEST_F(FakeCuda, DoesWorkWhenSomebodyWaits) {
  CUdeviceptr memory = take(4);
  CUevent event;
  EXPECT_EQ(driver.cuEventCreate(&event, 0), CUDA_SUCCESS);
  void* pinned;
  EXPECT_EQ(driver.cuMemHostAlloc(&pinned, 4, 0), CUDA_SUCCESS);
  auto* value = static_cast<float*>(pinned);
  *value = 1;
  EXPECT_EQ(driver.cuMemcpyHtoDAsync_v2(memory, value, 4, stream),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventRecord(event, stream), CUDA_SUCCESS);
  *value = 2;  // Too early: the copy has not run yet.
  EXPECT_NE(first(memory), 2);
  EXPECT_EQ(driver.cuMemsetD8Async(memory, 0, 4, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventSynchronize(event), CUDA_SUCCESS);
  EXPECT_EQ(first(memory), 2) << "what is behind the event waits";
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(first(memory), 0);
  EXPECT_EQ(fake.pageable_copies(), 0u);
  EXPECT_EQ(fake.calls("cuStreamSynchronize"), 1u);
  EXPECT_NE(fake.leaks(), "");
  EXPECT_EQ(driver.cuEventDestroy_v2(event), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFreeHost(pinned), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree_v2(memory), CUDA_SUCCESS);
}

TEST_F(FakeCuda, ReplaysWhatItCaptured) {
  fake.add_kernel("add_one", std::vector<size_t>{8},
                  [](void* const* p) { **static_cast<float**>(p[0]) += 1; });
  CUmodule module;
  CUfunction function;
  EXPECT_EQ(driver.cuModuleLoadDataEx(&module, "// PTX", 0, nullptr, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuModuleGetFunction(&function, module, "add_two"),
            CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(driver.cuModuleGetFunction(&function, module, "add_one"),
            CUDA_SUCCESS);
  CUdeviceptr memory = take(4);
  EXPECT_EQ(driver.cuMemsetD8Async(memory, 0, 4, stream), CUDA_SUCCESS);
  EXPECT_EQ(
      driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED),
      CUDA_SUCCESS);
  CUdeviceptr argument = memory;
  void* parameters[] = {&argument};
  EXPECT_EQ(driver.cuLaunchKernel(function, 2, 1, 1, 3, 1, 1, 0, stream,
                                  parameters, nullptr),
            CUDA_SUCCESS);
  argument = 0;  // It has already been read.
  CUgraph graph;
  CUgraphExec executable;
  EXPECT_EQ(driver.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphInstantiateWithFlags(&executable, graph, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(driver.cuGraphLaunch(executable, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(first(memory), 12);
  EXPECT_EQ(driver.cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree_v2(memory), CUDA_SUCCESS);
}

TEST_F(FakeCuda, RunsSimulatorImages) {
  std::ifstream file(MPC_TEST_SIMULATOR_IMAGE, std::ios::binary);
  const std::string image{std::istreambuf_iterator<char>(file),
                          std::istreambuf_iterator<char>()};
  CUmodule module;
  CUfunction function;
  ASSERT_EQ(
      driver.cuModuleLoadDataEx(&module, image.c_str(), 0, nullptr, nullptr),
      CUDA_SUCCESS);
  EXPECT_EQ(driver.cuModuleGetFunction(&function, module, "sum_of_block"),
            CUDA_SUCCESS);
  CUdeviceptr memory = take(128 * sizeof(float));
  auto* values = reinterpret_cast<float*>(memory);
  for (int i = 0; i < 128; ++i) values[i] = i < 64 ? 1.0f : 2.0f;
  void* parameters[] = {&memory};
  EXPECT_EQ(driver.cuLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, stream,
                                  parameters, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS) << fake.error();
  EXPECT_EQ(values[3], 64.0f);
  EXPECT_EQ(values[100], 128.0f);
  EXPECT_EQ(driver.cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree_v2(memory), CUDA_SUCCESS);
}

TEST_F(FakeCuda, RefusesWhatCudaRefuses) {
  CUdeviceptr memory = take(8);
  float value = 0;
  EXPECT_EQ(driver.cuMemcpyDtoHAsync_v2(&value, memory + 8, 4, stream),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(fake.error(), "a copy from memory nobody took");
  EXPECT_EQ(driver.cuMemcpyDtoHAsync_v2(&value, memory + 4, 4, stream),
            CUDA_SUCCESS);
  EXPECT_EQ(fake.pageable_copies(), 1u);
  CUdeviceptr large;
  EXPECT_EQ(driver.cuMemAlloc_v2(&large, size_t{1} << 40),
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver.cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
  // Calls that release something do so even if they return a failure.
  fake.fail_at(1);
  EXPECT_EQ(driver.cuMemFree_v2(memory), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(fake.used_memory(), 0u);
}

// After a kernel fails, the device is unusable.
TEST_F(FakeCuda, StaysBroken) {
  fake.add_kernel("crash", std::vector<size_t>{},
                  [](void* const*) { mpc_sim_trap("it crashed", "crash", 1); });
  CUmodule module;
  CUfunction function;
  EXPECT_EQ(driver.cuModuleLoadDataEx(&module, "// PTX", 0, nullptr, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuModuleGetFunction(&function, module, "crash"),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream,
                                  nullptr, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(fake.error().find("it crashed"), std::string::npos);
  CUdeviceptr memory;
  EXPECT_EQ(driver.cuMemAlloc_v2(&memory, 4), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(driver.cuModuleUnload(module), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(driver.cuStreamDestroy_v2(stream), CUDA_ERROR_LAUNCH_FAILED);
  stream = nullptr;
  fake.fail_at(0);  // Repaired.
  EXPECT_EQ(driver.cuStreamCreate(&stream, 0), CUDA_SUCCESS);
}

}  // namespace
}  // namespace mpc::test
