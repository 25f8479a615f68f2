// Profiles of sessions on a fake CUDA device.

#include <gtest/gtest.h>

#include <string>

#include "test/runtime/cuda/session.h"
#include "test/runtime/profile_checks.h"

namespace mpc::test {
namespace {

TEST_F(Cuda, ProfilesWithEvents) {
  for (bool asynchronous : {false, true})
    for (uint32_t accumulate : {1u, 3u}) {
      PackageOptions options = cuda_package();
      options.accumulate = accumulate;
      ProgramPtr program = load(make_package(options));
      CudaSessionOptions on_cuda;
      on_cuda.asynchronous = asynchronous;
      SessionPtr session = create_on(program, on_cuda);
      SessionPtr plain = create_on(program, on_cuda);
      for (int i = 0; i < 3; ++i)
        (void)step(plain, value_of_step(i)),
            (void)step(session, value_of_step(i));
      start_profile(session, 6);
      for (int i = 3; i < 9; ++i)
        (void)step(plain, value_of_step(i)),
            (void)step(session, value_of_step(i));
      EXPECT_OK(mpc_session_profile_stop(session.get()));
      EXPECT_EQ(profile_info(session).calls, 6u);
      expect_consistent(session);
      uint64_t instructions = 0, inputs = 0;
      for (const mpc_profile_record_t& record : profile_records(session)) {
        if (record.kind == MPC_PROFILE_INPUTS) inputs = record.calls;
        if (record.kind <= MPC_PROFILE_MOVE) instructions += record.calls;
      }
      EXPECT_EQ(inputs, 6u);
      EXPECT_GE(instructions, 6u);
      (void)synchronize(plain);
      EXPECT_EQ(all_states(program, plain), all_states(program, session));
    }
}

// While it profiles, a session launches no graphs; before and after it creates
// and records no events with times.
TEST_F(Cuda, ProfilesWithoutGraphs) {
  ProgramPtr program = load(make_package(cuda_package()));
  SessionPtr session = create_on(program);
  Batch batch(1);
  (void)step_with(session.get(), &batch);
  fake.reset_calls();
  (void)step_with(session.get(), &batch);
  const size_t records = fake.calls("cuEventRecord");
  EXPECT_EQ(fake.calls("cuEventElapsedTime"), 0u);
  start_profile(session);
  fake.reset_calls();
  (void)step_with(session.get(), &batch);
  EXPECT_EQ(fake.calls("cuGraphLaunch"), 0u);
  EXPECT_GT(fake.calls("cuLaunchKernel"), 0u);
  EXPECT_GT(fake.calls("cuEventRecord"), records);
  EXPECT_EQ(fake.calls("cuEventCreate"), 0u) << "all were created before";
  (void)synchronize(session);
  EXPECT_OK(mpc_session_profile_stop(session.get()));
  fake.reset_calls();
  (void)step_with(session.get(), &batch);
  EXPECT_EQ(fake.calls("cuGraphLaunch"), 1u);
  EXPECT_EQ(fake.calls("cuEventRecord"), records);
  (void)synchronize(session);
}

// If a profile cannot start, the session continues without it.
TEST_F(Cuda, SurvivesRefusedProfiles) {
  ProgramPtr program = load(make_package(cuda_package()));
  bool refused_event = false;
  for (uint64_t n = 1;; ++n) {
    SCOPED_TRACE(n);
    ASSERT_LT(n, 1000u);
    SessionPtr session = create_on(program);
    fake.fail_at(n, cuda::CUDA_ERROR_OUT_OF_MEMORY);
    const Outcome outcome =
        take(mpc_session_profile_start(session.get(), nullptr));
    fake.fail_at(0);
    if (outcome.code == MPC_OK) break;
    EXPECT_EQ(take(mpc_session_profile_stop(session.get())).code,
              MPC_INVALID_ARGUMENT);
    if (outcome.code == MPC_DEVICE_LOST) continue;
    EXPECT_EQ(outcome.code, MPC_OUT_OF_MEMORY);
    refused_event |= outcome.message.find("cuEventCreate") != std::string::npos;
    Batch batch(1);
    (void)step_with(session.get(), &batch);
    EXPECT_EQ(synchronize(session).step, 1u);
  }
  EXPECT_TRUE(refused_event);
}

}  // namespace
}  // namespace mpc::test
