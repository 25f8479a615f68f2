// What sessions do on a CUDA device, against what they do on the CPU.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "test/runtime/cuda/kernels.h"

namespace mpc::test {
namespace {

// Inputs that overflow now and then, as the loss scale grows.
float value_of_step(int i) { return i % 7 == 3 ? 1e6f : 1.0f + 0.5f * i; }

mpc_step_info_t step_with(mpc_session_t* session, Batch* batch) {
  mpc_step_info_t info = {};
  info.struct_size = sizeof(info);
  EXPECT_OK(mpc_session_step(session, batch->tensors, 2, &info));
  return info;
}

mpc_step_info_t synchronize(const SessionPtr& session) {
  mpc_step_info_t info = {};
  info.struct_size = sizeof(info);
  EXPECT_OK(mpc_session_synchronize(session.get(), &info));
  return info;
}

void expect_same(const mpc_step_info_t& a, const mpc_step_info_t& b) {
  EXPECT_EQ(std::memcmp(&a, &b, sizeof(a)), 0)
      << "call " << a.call << "/" << b.call << ", loss " << a.loss << "/"
      << b.loss << ", scale " << a.loss_scale << "/" << b.loss_scale
      << ", norm " << a.grad_norm << "/" << b.grad_norm << ", step " << a.step
      << "/" << b.step;
}

class Cuda : public testing::Test {
 protected:
  void SetUp() override { add_package_kernels(&fake); }
  void TearDown() override {
    EXPECT_EQ(fake.leaks(), "");
    EXPECT_EQ(fake.error(), "");
  }
  FakeDriver fake;
};

TEST_F(Cuda, StepsAsTheCpu) {
  for (uint32_t accumulate : {1u, 3u})
    for (bool asynchronous : {false, true}) {
      PackageOptions options = cuda_package();
      options.accumulate = accumulate;
      ProgramPtr program = load(make_package(options));
      SessionPtr cpu = create(program);
      CudaSessionOptions on_cuda;
      on_cuda.asynchronous = asynchronous;
      SessionPtr cuda = create_on(program, on_cuda);
      mpc_step_info_t before = {};
      before.struct_size = sizeof(before);
      for (int i = 0; i < 30; ++i) {
        mpc_step_info_t expected = step(cpu, value_of_step(i));
        Batch batch(value_of_step(i));
        mpc_step_info_t info = step_with(cuda.get(), &batch);
        // What the caller does with its memory now is its own affair.
        std::memset(batch.x, 0xff, sizeof(batch.x));
        expect_same(info, asynchronous ? before : expected);
        before = expected;
      }
      expect_same(synchronize(cuda), before);
      EXPECT_EQ(all_states(program, cpu), all_states(program, cuda));
    }
}

TEST_F(Cuda, WaitsForNothingInAStep) {
  ProgramPtr program = load(make_package(cuda_package()));
  SessionPtr session = create_on(program);
  Batch batch(1);
  for (int i = 0; i < 2; ++i) (void)step_with(session.get(), &batch);
  fake.reset_calls();
  mpc_step_info_t info = step_with(session.get(), &batch);
  EXPECT_EQ(info.call, 2u);
  EXPECT_EQ(fake.calls("cuStreamSynchronize"), 0u);
  EXPECT_EQ(fake.calls("cuStreamQuery"), 0u);
  EXPECT_EQ(fake.calls("cuEventQuery"), 0u);
  EXPECT_EQ(fake.calls("cuEventSynchronize"), 1u) << "of the step before";
  EXPECT_EQ(fake.pageable_copies(), 0u);
  EXPECT_EQ(fake.calls("cuGraphLaunch"), 1u);
  EXPECT_EQ(fake.calls("cuLaunchKernel"), 0u);
  EXPECT_EQ(fake.calls("cuMemcpyHtoDAsync_v2"), 2u);
  EXPECT_EQ(fake.calls("cuMemcpyDtoHAsync_v2"), 3u)
      << "scale before; loss with norm and flag; counter";
  EXPECT_EQ(fake.calls("cuMemAlloc_v2") + fake.calls("cuMemHostAlloc") +
                fake.calls("cuStreamBeginCapture_v2") +
                fake.calls("cuGraphInstantiateWithFlags"),
            0u)
      << fake.calls_text();
  (void)synchronize(session);
}

TEST_F(Cuda, CapturesEachEntryOnce) {
  PackageOptions options = cuda_package();
  options.accumulate = 2;
  ProgramPtr program = load(make_package(options));
  SessionPtr session = create_on(program);
  EXPECT_EQ(fake.calls("cuStreamBeginCapture_v2"), 0u) << "on first use";
  for (int i = 0; i < 10; ++i) (void)step(session, 1);
  EXPECT_EQ(fake.calls("cuStreamBeginCapture_v2"), 2u);
  EXPECT_EQ(fake.calls("cuGraphInstantiateWithFlags"), 2u);
  EXPECT_EQ(fake.calls("cuGraphLaunch"), 10u + 5u);
  EXPECT_STREQ(mpc_session_device(session.get()), "cuda:0 Fake GPU");
}

TEST(CudaAlone, LaunchesOneByOneWhereItCannotCaptureAndSaysSo) {
  FakeDriverOptions fake_options;
  fake_options.can_capture = false;
  FakeDriver fake(fake_options);
  add_package_kernels(&fake);
  ProgramPtr program = load(make_package(cuda_package()));
  SessionPtr cpu = create(program), cuda = create_on(program);
  for (int i = 0; i < 5; ++i) {
    (void)step(cpu, value_of_step(i));
    (void)step(cuda, value_of_step(i));
  }
  EXPECT_EQ(all_states(program, cpu), all_states(program, cuda));
  EXPECT_EQ(fake.calls("cuGraphLaunch"), 0u);
  EXPECT_EQ(fake.calls("cuLaunchKernel"), 10u);
  EXPECT_STREQ(mpc_session_device(cuda.get()),
               "cuda:0 Fake GPU (without CUDA graphs: cuStreamBeginCapture_v2: "
               "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (operation not permitted "
               "when stream is capturing))");
}

TEST_F(Cuda, EvaluatesAndPredicts) {
  ProgramPtr program = load(make_package(cuda_package()));
  SessionPtr cpu = create(program), cuda = create_on(program);
  Batch batch(2);
  batch.labels[1] = -100;
  batch.x[9] = -1;
  (void)step_with(cpu.get(), &batch);
  (void)step_with(cuda.get(), &batch);
  mpc_metrics_t expected = {}, metrics = {};
  expected.struct_size = metrics.struct_size = sizeof(metrics);
  EXPECT_OK(mpc_session_evaluate(cpu.get(), batch.tensors, 2, 3, &expected));
  EXPECT_OK(mpc_session_evaluate(cuda.get(), batch.tensors, 2, 3, &metrics));
  EXPECT_EQ(std::memcmp(&expected, &metrics, sizeof(metrics)), 0);
  int64_t shape[2] = {4, 2};
  float y[2][8] = {};
  for (int i = 0; i < 2; ++i) {
    mpc_tensor_t output = {sizeof(output), MPC_DTYPE_F32, 2, shape, y[i], {}};
    EXPECT_OK(mpc_session_run((i == 0 ? cpu : cuda).get(), "predict",
                              batch.tensors, 1, &output, 1));
  }
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(y[0][i], y[1][i], 1e-5);
}

TEST_F(Cuda, MovesCheckpointsBetweenDevices) {
  Folder folder;
  ProgramPtr program = load(make_package(cuda_package()));
  SessionPtr cuda = create_on(program);
  for (int i = 0; i < 5; ++i) (void)step(cuda, value_of_step(i));
  // Two steps are still on their way.
  EXPECT_OK(mpc_session_save_checkpoint(cuda.get(), (folder / "a").c_str()));
  SessionPtr cpu = create(program), again = create_on(program);
  EXPECT_OK(mpc_session_load_checkpoint(cpu.get(), (folder / "a").c_str()));
  for (int i = 0; i < 3; ++i) (void)step(again, 3);
  EXPECT_OK(mpc_session_load_checkpoint(again.get(), (folder / "a").c_str()));
  for (int i = 5; i < 12; ++i)
    for (const SessionPtr* session : {&cuda, &cpu, &again})
      (void)step(*session, value_of_step(i));
  Bytes expected = all_states(program, cpu);
  EXPECT_EQ(all_states(program, cuda), expected);
  EXPECT_EQ(all_states(program, again), expected);
  EXPECT_EQ(synchronize(cuda).step, synchronize(cpu).step);
  EXPECT_OK(mpc_session_save_checkpoint(cpu.get(), (folder / "b").c_str()));
  EXPECT_OK(mpc_session_save_checkpoint(cuda.get(), (folder / "c").c_str()));
  for (const char* file :
       {"model.safetensors", "optimizer.safetensors", "state.json"})
    EXPECT_EQ(read_bytes(folder / "b/" + file),
              read_bytes(folder / "c/" + file))
        << file;
}

TEST_F(Cuda, StopsWhenTrainingDiverges) {
  for (bool asynchronous : {false, true}) {
    PackageOptions options = cuda_package();
    options.loss_scale = 2;
    ProgramPtr program = load(make_package(options));
    CudaSessionOptions on_cuda;
    on_cuda.asynchronous = asynchronous;
    SessionPtr session = create_on(program, on_cuda);
    int steps = asynchronous ? 21 : 20;
    for (int i = 0; i < steps; ++i) (void)step(session, 1e6f);
    Bytes before = read_state(session, "w");
    Batch batch(1e6f);
    Outcome outcome =
        take(mpc_session_step(session.get(), batch.tensors, 2, nullptr));
    EXPECT_EQ(outcome.code, MPC_NUMERIC);
    EXPECT_NE(outcome.message.find("the first value that is not finite appears "
                                   "in 'test_gradient (node)'"),
              std::string::npos)
        << outcome.message;
    EXPECT_EQ(read_state(session, "w"), before);
    // A later step that finds nothing wrong ends it.
    (void)step(session, 1.0f);
    EXPECT_EQ(synchronize(session).skipped, 0);
  }
}

// Found a call later, when the arena holds the batch of the next step, and that
// only in part. It is the step that failed whose inputs are looked at.
TEST_F(Cuda, BlamesTheBatchThatWasNotFinite) {
  PackageOptions options = cuda_package();
  options.loss_scaling = false;
  options.guarded = true;
  ProgramPtr program = load(make_package(options));
  for (bool last : {false, true}) {
    SessionPtr session = create_on(program);
    (void)step(session, 1.0f);
    Batch bad(1.0f);
    bad.x[5] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_OK(mpc_session_step(session.get(), bad.tensors, 2, nullptr));
    std::memset(bad.x, 0, sizeof(bad.x));
    mpc_step_info_t info = {};
    info.struct_size = sizeof(info);
    Batch good(2.0f);
    Outcome outcome =
        last ? take(mpc_session_synchronize(session.get(), &info))
             : take(mpc_session_step(session.get(), good.tensors, 2, &info));
    EXPECT_EQ(outcome.code, MPC_NUMERIC);
    EXPECT_EQ(outcome.message,
              "the loss is nan, so the weights are not updated; input 'x' is "
              "not finite (nan at position 5); lower the learning rate or look "
              "at the data");
    EXPECT_EQ(info.call, 2u);
    EXPECT_EQ(info.skipped, 1);
    // The step behind it was made.
    EXPECT_EQ(synchronize(session).step, last ? 1u : 2u);
  }
}

TEST_F(Cuda, FindsDivergenceWhenItSynchronizes) {
  PackageOptions options = cuda_package();
  options.loss_scale = 2;
  ProgramPtr program = load(make_package(options));
  SessionPtr session = create_on(program);
  for (int i = 0; i < 21; ++i) (void)step(session, 1e6f);
  mpc_step_info_t info = {};
  info.struct_size = sizeof(info);
  Outcome outcome = take(mpc_session_synchronize(session.get(), &info));
  EXPECT_EQ(outcome.code, MPC_NUMERIC);
  EXPECT_NE(outcome.message.find("'test_gradient (node)'"), std::string::npos)
      << outcome.message;
  EXPECT_EQ(info.call, 21u);
  EXPECT_EQ(info.skipped, 1);
  EXPECT_EQ(synchronize(session).call, 21u);
}

// Large inputs take another way: beside the step before, which still uses their
// place. Some of them are small all the same.
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

// The device's memory, as another library would have taken it.
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

  // And gives outputs there.
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
  // Work of the caller's in front of the step and behind it, on one stream.
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

// Two sessions on one device keep their work apart.
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
