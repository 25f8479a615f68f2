// Errors of sessions on a CUDA device about values that are not finite.

#include <gtest/gtest.h>

#include <cstring>

#include "test/runtime/cuda/session.h"

namespace mpc::test {
namespace {

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
    // Followed by a step without a fault.
    (void)step(session, 1.0f);
    EXPECT_EQ(synchronize(session).skipped, 0);
  }
}

// The fault is detected one call later, when the arena already contains parts
// of the next batch. The diagnosis must use the inputs of the step that failed.
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
              "not finite (nan at position 5); lower the learning rate or "
              "check the data");
    EXPECT_EQ(info.call, 2u);
    EXPECT_EQ(info.skipped, 1);
    // The step after it was executed.
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

}  // namespace
}  // namespace mpc::test
