// Inputs and states of sessions on a CUDA device in host and device memory.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "test/runtime/cuda/session.h"

namespace mpc::test {
namespace {

// Large inputs are transferred while the previous step runs, which still uses
// their place in the arena. Some of the inputs are small.
TEST_F(Cuda, BringsLargeInputsBesideAStep) {
  PackageOptions options = cuda_package();
  options.bulk = (1 << 18) + 3;
  ProgramPtr program = load(make_package(options));
  SessionPtr cpu = create(program), cuda = create_on(program);
  std::vector<float> bulk(static_cast<size_t>(options.bulk));
  for (int i = 0; i < 5; ++i) {
    for (const SessionPtr* session : {&cpu, &cuda}) {
      Batch batch(value_of_step(i));
      for (size_t k = 0; k < bulk.size(); ++k)
        bulk[k] = static_cast<float>(k % 1000 + static_cast<size_t>(i));
      mpc_tensor_t inputs[] = {batch.tensors[0],
                               batch.tensors[1],
                               {sizeof(mpc_tensor_t),
                                MPC_DTYPE_F32,
                                1,
                                &options.bulk,
                                bulk.data(),
                                {}}};
      if (session == &cuda) fake.reset_calls();
      EXPECT_OK(mpc_session_step(session->get(), inputs, 3, nullptr));
      std::fill(bulk.begin(), bulk.end(), -1.0f);
      std::memset(batch.x, 0xff, sizeof(batch.x));
    }
    EXPECT_EQ(fake.calls("cuMemcpyHtoDAsync_v2"), 1u);
    EXPECT_EQ(fake.calls("cuStreamWaitEvent"), 1u);
    EXPECT_EQ(fake.calls("cuStreamSynchronize"), 0u);
  }
  EXPECT_TRUE(all_states(program, cpu) == all_states(program, cuda));
}

// Device memory that another library allocated.
struct OnDevice {
  OnDevice(const FakeDriver& fake, const void* data, size_t bytes)
      : driver(fake.table()) {
    EXPECT_EQ(driver.cuInit(0), cuda::CUDA_SUCCESS);
    EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), cuda::CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSetCurrent(context), cuda::CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemAlloc_v2(&memory, bytes), cuda::CUDA_SUCCESS);
    std::memcpy(address(), data, bytes);
    EXPECT_EQ(driver.cuCtxSetCurrent(nullptr), cuda::CUDA_SUCCESS);
  }
  ~OnDevice() {
    EXPECT_EQ(driver.cuCtxSetCurrent(context), cuda::CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemFree_v2(memory), cuda::CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSetCurrent(nullptr), cuda::CUDA_SUCCESS);
    EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), cuda::CUDA_SUCCESS);
  }
  void* address() const { return reinterpret_cast<void*>(memory); }

  const cuda::Driver& driver;
  cuda::CUcontext context = nullptr;
  cuda::CUdeviceptr memory = 0;
};

TEST_F(Cuda, TakesInputsFromDeviceMemory) {
  ProgramPtr program = load(make_package(cuda_package()));
  SessionPtr cpu = create(program), cuda = create_on(program);
  Batch batch(2);
  OnDevice x(fake, batch.x, sizeof(batch.x));
  OnDevice labels(fake, batch.labels, sizeof(batch.labels));
  Batch there(2);
  there.tensors[0].data = x.address();
  there.tensors[1].data = labels.address();
  for (mpc_tensor_t& tensor : there.tensors)
    tensor.device = {MPC_DEVICE_CUDA, 0};
  for (int i = 0; i < 3; ++i) {
    (void)step_with(cpu.get(), &batch);
    (void)step_with(cuda.get(), &there);
  }
  EXPECT_EQ(all_states(program, cpu), all_states(program, cuda));

  // Outputs are also written there.
  float zeros[8] = {};
  OnDevice y(fake, zeros, sizeof(zeros));
  int64_t shape[2] = {4, 2};
  mpc_tensor_t output = {sizeof(output), MPC_DTYPE_F32, 2,
                         shape,          y.address(),   {MPC_DEVICE_CUDA, 0}};
  EXPECT_OK(
      mpc_session_run(cuda.get(), "predict", there.tensors, 1, &output, 1));
  EXPECT_NE(static_cast<float*>(y.address())[0], 0.0f);

  there.tensors[0].device.index = 1;
  EXPECT_EQ(
      take(mpc_session_step(cuda.get(), there.tensors, 2, nullptr)).message,
      "input 0 ('x'): lies in the memory of another device (kind 2, "
      "number 1), but the session runs on cuda:0 Fake GPU");
  there.tensors[0].device.index = 0;
  there.tensors[0].data = batch.x;
  Outcome outcome =
      take(mpc_session_step(cuda.get(), there.tensors, 2, nullptr));
  EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
  EXPECT_NE(outcome.message.find("is not in the memory of cuda:0 Fake GPU"),
            std::string::npos)
      << outcome.message;
  there.tensors[0].device = {MPC_DEVICE_HOST, 0};
  EXPECT_OK(mpc_session_step(cuda.get(), there.tensors, 2, nullptr));
}

TEST_F(Cuda, WorksOnTheCallersStream) {
  const cuda::Driver& driver = fake.table();
  ProgramPtr program = load(make_package(cuda_package()));
  float zeros[16] = {};
  OnDevice x(fake, zeros, sizeof(zeros));
  EXPECT_EQ(driver.cuCtxSetCurrent(x.context), cuda::CUDA_SUCCESS);
  cuda::CUstream stream;
  EXPECT_EQ(driver.cuStreamCreate(&stream, 0), cuda::CUDA_SUCCESS);
  CudaSessionOptions options;
  options.stream = stream;
  SessionPtr session = create_on(program, options);
  // Work of the caller before and after the step, on the same stream.
  Batch batch(1);
  float ones[16];
  std::fill(std::begin(ones), std::end(ones), 1.0f);
  batch.tensors[0].data = x.address();
  batch.tensors[0].device = {MPC_DEVICE_CUDA, 0};
  EXPECT_EQ(driver.cuMemcpyHtoDAsync_v2(x.memory, ones, sizeof(ones), stream),
            cuda::CUDA_SUCCESS);
  (void)step_with(session.get(), &batch);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync_v2(x.memory, zeros, sizeof(zeros), stream),
            cuda::CUDA_SUCCESS);
  mpc_step_info_t info = synchronize(session);
  EXPECT_EQ(info.loss, 1.0f);
  cuda::CUcontext current = nullptr;
  EXPECT_EQ(driver.cuCtxGetCurrent(&current), cuda::CUDA_SUCCESS);
  EXPECT_EQ(current, x.context) << "the caller's context is put back";
  session.reset();
  EXPECT_EQ(driver.cuStreamDestroy_v2(stream), cuda::CUDA_SUCCESS)
      << "it is the caller's";
  EXPECT_EQ(driver.cuCtxSetCurrent(nullptr), cuda::CUDA_SUCCESS);
}

// Two sessions on one device do not interfere.
TEST_F(Cuda, KeepsSessionsApart) {
  ProgramPtr program = load(make_package(cuda_package()));
  SessionPtr a = create_on(program), b = create_on(program);
  for (int i = 0; i < 4; ++i) {
    (void)step(a, 1);
    EXPECT_NE(read_state(a, "w"), read_state(b, "w"));
    (void)step(b, 1);
    EXPECT_EQ(read_state(a, "w"), read_state(b, "w"));
  }
}

TEST_F(Cuda, WritesStates) {
  ProgramPtr program = load(make_package(cuda_package()));
  SessionPtr cpu = create(program), cuda = create_on(program);
  float b[2] = {1.00390625f, 7};
  int64_t shape[1] = {2};
  mpc_tensor_t tensor = {sizeof(tensor), MPC_DTYPE_F32, 1, shape, b, {}};
  for (const SessionPtr* session : {&cpu, &cuda}) {
    (void)step(*session, 1);
    EXPECT_OK(mpc_session_write_state(session->get(), "b", &tensor));
    (void)step(*session, 1);
  }
  EXPECT_EQ(all_states(program, cpu), all_states(program, cuda));
}

}  // namespace
}  // namespace mpc::test
