// Sessions on a CUDA device compared with sessions on the CPU.

#include "test/runtime/cuda/session.h"

#include <gtest/gtest.h>

#include <cstring>

#include "test/cuda/device_kernels.h"
#include "test/cuda/test_images.h"

namespace mpc::test {
namespace {

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
        // The caller may now reuse its memory.
        std::memset(batch.x, 0xff, sizeof(batch.x));
        expect_same(info, asynchronous ? before : expected);
        before = expected;
      }
      expect_same(synchronize(cuda), before);
      EXPECT_EQ(all_states(program, cpu), all_states(program, cuda));
    }
}

// By one kernel each; without it, by the driver.
TEST_F(Cuda, CopiesSmallInputsAndValuesByAKernel) {
  add_device_kernels(&fake);
  for (bool present : {true, false}) {
    TestImages images;
    images.set(present);
    ProgramPtr program = load(make_package(cuda_package()));
    SessionPtr cpu = create(program);
    SessionPtr cuda = create_on(program);
    for (int i = 0; i < 10; ++i) {
      (void)step(cpu, value_of_step(i));
      Batch batch(value_of_step(i));
      fake.reset_calls();
      (void)step_with(cuda.get(), &batch);
      std::memset(batch.x, 0xff, sizeof(batch.x));
      EXPECT_EQ(fake.calls("cuMemcpyHtoDAsync_v2"), present ? 0u : 2u);
      EXPECT_EQ(fake.calls("cuMemcpyDtoHAsync_v2"), present ? 0u : 3u);
    }
    expect_same(synchronize(cuda), synchronize(cpu));
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

TEST(CudaAlone, LaunchesKernelsOneByOneWithoutCapture) {
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
  // Two steps are still in flight.
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

}  // namespace
}  // namespace mpc::test
