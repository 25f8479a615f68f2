// Choosing an engine of cuDNN for a convolution, and remembering it.

#include <gtest/gtest.h>

#include <filesystem>

#include "test/cuda/conv/conv.h"

namespace mpc::test {
namespace {

TEST_F(CudaConv, TakesTheFastestThatRuns) {
  library.engines = {{10},
                     {5, 0, {}, false, true},
                     {6, 0, {}, false, false, true},
                     {8, 100},
                     {9}};
  EXPECT_EQ(chosen(context()), "cudnn:engine 3, 8.0 us, fastest of 4");
}

TEST_F(CudaConv, ManyProposalsAreNotAllTried) {
  library.engines.assign(30, {10});
  EXPECT_EQ(chosen(context()), "cudnn:engine 0, 10.0 us, fastest of 8");
  EXPECT_EQ(library.plans, 8u);
}

TEST_F(CudaConv, TheFallbackModeIsAskedToo) {
  library.engines = {{10}, {7, 0, {}, false, false, false, true}};
  EXPECT_EQ(chosen(context()), "cudnn:engine 1, 7.0 us, fastest of 2");
}

TEST_F(CudaConv, LeavesOutWhatRoundsMore) {
  using namespace cuda;
  for (auto note :
       {CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS,
        CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION,
        CUDNN_NUMERICAL_NOTE_FFT, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4,
        CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6,
        CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13}) {
    library.engines = {{5, 0, {kTensorCore, note}}, {10}};
    EXPECT_EQ(chosen(context()), "cudnn:engine 1, 10.0 us, fastest of 1");
  }
}

TEST_F(CudaConv, TensorCoresAreForSixteenBits) {
  library.engines = {{5, 0, {kTensorCore}}, {10}};
  EXPECT_EQ(chosen(context(), KernelId::conv, kCudaTypes[3]),
            "cudnn:engine 0, 5.0 us, fastest of 2");
  // TF32 is not f32,
  EXPECT_EQ(chosen(context(), KernelId::conv, kCudaTypes[0]),
            "cudnn:engine 1, 10.0 us, fastest of 1");
  // unless the call says that it may be,
  KernelDesc call = desc(KernelId::conv, kCudaTypes[0]);
  call.attributes.push_back(1);
  std::string error;
  const auto kernel = make_cuda_kernel(call, context(), &error);
  ASSERT_TRUE(kernel) << error;
  EXPECT_EQ(kernel->implementation(), "cudnn:engine 0, 5.0 us, fastest of 2");
  // but loses nothing of what was 16-bit.
  EXPECT_EQ(chosen(context(), KernelId::conv_grad_weight, kCudaTypes[4]),
            "cudnn:engine 0, 5.0 us, fastest of 2, operands widened to f32");
}

TEST_F(CudaConv, DeterministicTakesTheFirstThatIs) {
  library.engines = {
      {1, 0, {cuda::CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}}, {10}, {5}};
  CudaContext device = context();
  device.deterministic = true;
  EXPECT_EQ(chosen(device),
            "cudnn:engine 1, first of the heuristic, for the same bits in "
            "every run");
  // It runs once, so that a capture need not load code.
  EXPECT_EQ(library.executions, 1u);
  EXPECT_EQ(library.plans, 1u);
  EXPECT_EQ(chosen(context()), "cudnn:engine 0, 1.0 us, fastest of 3");
}

TEST_F(CudaConv, PlansAreSharedInTheProcess) {
  const CudaContext device = context();
  std::string error;
  const auto first =
      make_cuda_kernel(desc(KernelId::conv, kCudaTypes[3]), device, &error);
  const size_t plans = library.plans, executions = library.executions;
  const auto second =
      make_cuda_kernel(desc(KernelId::conv, kCudaTypes[3]), device, &error);
  EXPECT_TRUE(first && second) << error;
  EXPECT_EQ(library.plans, plans);
  EXPECT_EQ(library.executions, executions);
}

// Engines are timed once per device, not once per session: another engine may
// give other bits, and making a plan takes up to a second.
TEST_F(CudaConv, LaterSessionsUseWhatWasTimed) {
  library.engines = {{10}, {7, 1000}};
  CudaContext device = context();
  EXPECT_EQ(chosen(device), "cudnn:engine 1, 7.0 us, fastest of 2");
  const size_t executions = library.executions;
  // Another engine would now be faster.
  library.engines[0].microseconds = 1;
  device.shared = make_cuda_shared();
  std::string error;
  const KernelDesc call = desc(KernelId::conv, kCudaTypes[3]);
  const auto kernel = must_make(call, device);
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->implementation(),
            "cudnn:engine 1, the fastest of an earlier trial");
  EXPECT_EQ(library.restored, 1u);
  // It runs once, so that a capture need not load code.
  EXPECT_EQ(library.executions, executions + 1);
  kernels::testing::expect_kernel_close(call, *kernel,
                                        conv_terms(KernelId::conv, kConvs[3]));
  // Another problem, type, device or version is timed again.
  EXPECT_EQ(chosen(device, KernelId::conv_bias),
            "cudnn:engine 0, 1.0 us, fastest of 2");
  device.shared = make_cuda_shared();
  device.device_name = "Fake A100";
  EXPECT_EQ(chosen(device), "cudnn:engine 0, 1.0 us, fastest of 2");
  device.shared = make_cuda_shared();
  library.version = 92900;
  EXPECT_EQ(chosen(device), "cudnn:engine 0, 1.0 us, fastest of 2");
  // In deterministic mode the choice does not depend on time.
  device.shared = make_cuda_shared();
  device.deterministic = true;
  EXPECT_NE(chosen(device).find("first of the heuristic"), std::string::npos);
}

TEST_F(CudaConv, LaterProcessesUseWhatWasTimed) {
  library.engines = {{10}, {7}};
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "mpc-conv-plans";
  std::filesystem::remove_all(folder);
  const auto in_a_process = [&] {
    CudaContext device = context();
    device.cache_folder = folder.string();
    return chosen(device);
  };
  EXPECT_EQ(in_a_process(), "cudnn:engine 1, 7.0 us, fastest of 2");
  EXPECT_EQ(in_a_process(), "cudnn:engine 1, the fastest of an earlier trial");
  // If a plan cannot be made again or does not run, engines are timed again.
  library.engines[1].broken = true;
  EXPECT_EQ(in_a_process(), "cudnn:engine 0, 10.0 us, fastest of 2");
  library.engines[0].unfinished = true;
  library.engines[1].broken = false;
  EXPECT_EQ(in_a_process(), "cudnn:engine 1, 7.0 us, fastest of 1");
  // The same applies if the file is damaged.
  size_t files = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    ++files;
    std::filesystem::resize_file(entry.path(), entry.file_size() / 2);
  }
  EXPECT_EQ(files, 1u);
  EXPECT_EQ(in_a_process(), "cudnn:engine 1, 7.0 us, fastest of 1");
  EXPECT_EQ(in_a_process(), "cudnn:engine 1, the fastest of an earlier trial");
  std::filesystem::remove_all(folder);
}

TEST_F(CudaConv, PlansThatAreNoTextAreTimedAnew) {
  library.engines = {{10}, {7}};
  library.cannot_serialize_plans = true;
  CudaContext device = context();
  for (int session = 0; session < 2; ++session) {
    device.shared = make_cuda_shared();
    EXPECT_EQ(chosen(device), "cudnn:engine 1, 7.0 us, fastest of 2");
  }
}

// Choices made without timing are not remembered.
TEST_F(CudaConv, WithoutATrialNothingIsKept) {
  library.engines = {{10}, {7}};
  CudaContext device = context();
  driver.memory_bytes = 1000;
  EXPECT_NE(chosen(device).find("as a trial failed"), std::string::npos);
  driver.memory_bytes = 1 << 30;
  device.shared = make_cuda_shared();
  EXPECT_EQ(chosen(device), "cudnn:engine 1, 7.0 us, fastest of 2");
}

TEST_F(CudaConv, WithoutRoomForATrialTakesTheFirst) {
  library.engines = {{10}, {7}};
  driver.memory_bytes = 1000;
  EXPECT_EQ(chosen(context()),
            "cudnn:engine 0, first of the heuristic, as a trial failed: "
            "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (as asked for)");
}

TEST_F(CudaConv, SaysWhatFailed) {
  CudaContext device = context();
  device.cudnn = nullptr;
  device.cudnn_missing = "no such file";
  EXPECT_EQ(chosen(device), "conv: cuDNN is missing: no such file");
  library.failing = "cudnnCreate";
  EXPECT_EQ(chosen(context()),
            "conv: cudnnCreate: CUDNN_STATUS_NOT_INITIALIZED");
  library.failing = "cudnnBackendFinalize";
  EXPECT_EQ(chosen(context()),
            "conv: cudnnBackendFinalize: CUDNN_STATUS_NOT_SUPPORTED");
  library.failing = "cudnnBackendCreateDescriptor";
  EXPECT_EQ(chosen(context()),
            "conv: cudnnBackendCreateDescriptor: CUDNN_STATUS_BAD_PARAM");
  library.failing = "cudnnBackendGetAttribute";
  EXPECT_NE(chosen(context()).find("cudnnBackendGetAttribute: "),
            std::string::npos);
  library.failing = "";

  library.engines = {{1, 0, {}, false, true}};
  const std::string none = chosen(context());
  EXPECT_EQ(none.find("conv: cuDNN has no engine for conv 0 bf16x2x13"), 0u)
      << none;
  EXPECT_NE(none.find("sums in f32: cudnnBackendFinalize: "
                      "CUDNN_STATUS_NOT_SUPPORTED (as asked for)"),
            std::string::npos)
      << none;
  library.engines = {{1, 0, {}, false, false, true}};
  EXPECT_EQ(chosen(context()).find(
                "conv: cudnnBackendExecute: CUDNN_STATUS_EXECUTION_FAILED"),
            0u);
  CudaContext fixed = context();
  fixed.deterministic = true;
  EXPECT_EQ(chosen(fixed).find(
                "conv: cudnnBackendExecute: CUDNN_STATUS_EXECUTION_FAILED"),
            0u);
  library.engines = {{1, size_t{2} << 30}};
  EXPECT_NE(chosen(context()).find("a workspace of more than 1 GiB"),
            std::string::npos);
}

}  // namespace
}  // namespace mpc::test
