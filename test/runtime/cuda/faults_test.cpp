// Out of memory and failing driver calls on CUDA devices.

#include <gtest/gtest.h>

#include "test/device_sim/abi.h"
#include "test/runtime/cuda/kernels.h"
#include "test/runtime/cuda/try_on.h"

namespace mpc::test {
namespace {

TEST(CudaFaults, ReportsMissingMemory) {
  FakeDriverOptions fake_options;
  fake_options.memory = 1 << 16;
  FakeDriver fake(fake_options);
  add_package_kernels(&fake);
  PackageOptions package = cuda_package();
  package.edit = [](program::ProgramT& p) {
    p.variants[1]->arena_size = uint64_t{12} << 30;
  };
  Outcome outcome = try_on(load(make_package(package)));
  EXPECT_EQ(outcome.code, MPC_OUT_OF_MEMORY);
  EXPECT_EQ(outcome.message,
            "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (out of memory); 12.9 GB "
            "for the arena");
  EXPECT_EQ(fake.leaks(), "");
}

// A faulting kernel is detected one step later; the session is lost and
// releases its resources.
TEST(CudaFaults, LosesTheSessionWithTheDevice) {
  FakeDriver fake;
  add_package_kernels(&fake);
  ProgramPtr program = load(make_package(cuda_package()));
  fake.add_kernel("test_update", std::vector<size_t>(10, 8), [](void* const*) {
    mpc_sim_trap("it crashed", "test_update", 1);
  });
  SessionPtr session = create_on(program);
  Batch batch(1);
  EXPECT_OK(mpc_session_step(session.get(), batch.tensors, 2, nullptr));
  Outcome outcome =
      take(mpc_session_step(session.get(), batch.tensors, 2, nullptr));
  EXPECT_EQ(outcome.code, MPC_DEVICE_LOST);
  EXPECT_EQ(outcome.message,
            "cuEventSynchronize: CUDA_ERROR_LAUNCH_FAILED (unspecified launch "
            "failure); the session's weights are lost");
  outcome = take(mpc_session_synchronize(session.get(), nullptr));
  EXPECT_EQ(outcome.code, MPC_DEVICE_LOST);
  Folder folder;
  outcome =
      take(mpc_session_save_checkpoint(session.get(), (folder / "a").c_str()));
  EXPECT_EQ(outcome.code, MPC_DEVICE_LOST);
  EXPECT_TRUE(names_in(folder.path()).empty());
  session.reset();
  EXPECT_EQ(fake.leaks(), "");
}

// Everything a session does, from its creation to its end.
std::vector<Outcome> use_session(const ProgramPtr& program,
                                 const std::string& checkpoint) {
  std::vector<Outcome> outcomes;
  SessionPtr session;
  outcomes.push_back(take(try_create(program, {}, &session)));
  if (outcomes.back().code != MPC_OK) return outcomes;
  Batch batch(1);
  mpc_metrics_t metrics = {};
  metrics.struct_size = sizeof(metrics);
  auto add = [&](mpc_status_t status) { outcomes.push_back(take(status)); };
  for (int i = 0; i < 3; ++i)
    add(mpc_session_step(session.get(), batch.tensors, 2, nullptr));
  add(mpc_session_evaluate(session.get(), batch.tensors, 2, 4, &metrics));
  add(mpc_session_step(session.get(), batch.tensors, 2, nullptr));
  float rate = 0.5f;
  mpc_tensor_t tensor = {sizeof(tensor), MPC_DTYPE_F32, 0, nullptr, &rate, {}};
  add(mpc_session_read_state(session.get(), "learning_rate", &tensor));
  add(mpc_session_write_state(session.get(), "learning_rate", &tensor));
  add(mpc_session_save_checkpoint(session.get(), checkpoint.c_str()));
  add(mpc_session_load_checkpoint(session.get(), checkpoint.c_str()));
  add(mpc_session_step(session.get(), batch.tensors, 2, nullptr));
  add(mpc_session_synchronize(session.get(), nullptr));
  return outcomes;
}

// For every n the n-th driver call fails, alone or with all later ones.
TEST(CudaFaults, SurvivesEveryFailedCall) {
  Folder folder;
  ProgramPtr program = load(make_package(cuda_package()));
  for (bool sticky : {false, true}) {
    int failures = 0, plain = 0;
    for (uint64_t n = 1;; ++n) {
      ASSERT_LT(n, 1000u);
      FakeDriver fake;
      add_package_kernels(&fake);
      fake.fail_at(n, cuda::CUDA_ERROR_ILLEGAL_ADDRESS, sticky);
      std::vector<Outcome> outcomes = use_session(program, folder / "c");
      bool lost = false;
      int errors = 0;
      for (size_t i = 0; i < outcomes.size(); ++i) {
        const Outcome& outcome = outcomes[i];
        if (outcome.code == MPC_OK) {
          EXPECT_FALSE(lost) << n << ", call " << i;
          continue;
        }
        ++errors;
        EXPECT_TRUE(outcome.code == MPC_DEVICE_LOST ||
                    (i == 0 && (outcome.code == MPC_UNAVAILABLE ||
                                outcome.code == MPC_INCOMPATIBLE)))
            << n << ", call " << i << ": " << outcome.message;
        if (!lost) {
          EXPECT_NE(outcome.message.find("CUDA_ERROR_ILLEGAL_ADDRESS"),
                    std::string::npos)
              << n << ", call " << i << ": " << outcome.message;
        }
        lost = true;
      }
      const std::string call = fake.failed_call();
      EXPECT_EQ(fake.leaks(), "") << n << ": " << call;
      // Without a context, resources may not be released properly.
      EXPECT_TRUE(fake.error().empty() || call == "cuCtxSetCurrent")
          << n << ": " << call << ": " << fake.error();
      if (errors > 0) ++failures;
      if (call.empty()) break;
      if (errors == 0) ++plain;
    }
    EXPECT_GT(failures, 50);
    // A failure may go unreported only if there is a fallback (graphs) or
    // nobody to report it to (restoring contexts, releasing resources at the
    // end).
    EXPECT_LT(plain, failures);
  }
}

}  // namespace
}  // namespace mpc::test
