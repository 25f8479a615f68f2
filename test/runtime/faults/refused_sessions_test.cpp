// Sessions when the n-th allocation, mapping or thread is refused, for every n:
// they return a status, do not crash, and lose nothing.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "test/runtime/faults/children.h"
#include "test/runtime/package.h"

namespace mpc::test {
namespace {

// Whether a code is expected for lack of memory, address space or threads.
bool is_expected(mpc_code_t code) {
  return code == MPC_OUT_OF_MEMORY || code == MPC_IO ||
         code == MPC_INCOMPATIBLE;
}

class Refusals : public ::testing::TestWithParam<Resource> {
 protected:
  Refusals() : program_(load(make_package())) {}

  // Creates a session on two threads; ends this child if that is refused.
  SessionPtr create_or_end() {
    mpc_session_options_t options = {};
    options.struct_size = sizeof(options);
    options.threads = 2;
    options.seed = 42;
    mpc_session_t* session = nullptr;
    check(mpc_session_create(program_.get(), &options, &session), "create");
    if (!session) {
      // The failure does not keep the next attempt from working.
      (void)stop_refusing();
      mpc_status_t status =
          mpc_session_create(program_.get(), &options, &session);
      if (status) fail(mpc_status_message(status));
      SessionPtr second(session);
      if (step(second, 1).loss != step(create(program_), 1).loss)
        fail("a session after a refused one is wrong");
      _exit(kGood);
    }
    return SessionPtr(session);
  }

  // Whether a call worked; ends the child if it failed for any reason other
  // than lack of resources.
  static bool check(mpc_status_t status, const char* what) {
    if (!status) return true;
    const mpc_code_t code = mpc_status_code(status);
    if (!is_expected(code))
      fail(std::string(what) + ": " + mpc_status_message(status));
    mpc_status_free(status);
    return false;
  }

  ProgramPtr program_;
  Folder folder_;
};

std::string name_of_parameter(
    const ::testing::TestParamInfo<Resource>& parameter) {
  return name_of(parameter.param);
}

INSTANTIATE_TEST_SUITE_P(Each, Refusals,
                         ::testing::Values(Resource::kMemory,
                                           Resource::kMapping,
                                           Resource::kThread),
                         name_of_parameter);

TEST_P(Refusals, OfSessionsStepsSavesAndLoads) {
  refuse_each(GetParam(), 150, [&](const std::function<void()>& begin) {
    const std::string path = folder_ / std::to_string(getpid());
    Batch batch(1);
    begin();
    SessionPtr session = create_or_end();
    // A step is either complete or undone; the next one continues from there.
    int made = 0;
    for (int i = 0; i < 3; ++i)
      made += check(mpc_session_step(session.get(), batch.tensors, 2, nullptr),
                    "step");
    const bool saved =
        check(mpc_session_save_checkpoint(session.get(), path.c_str()), "save");
    if (saved)
      check(mpc_session_load_checkpoint(session.get(), path.c_str()), "load");
    const bool refused = stop_refusing() > 0;

    SessionPtr other = create(program_, 2);
    for (int i = 0; i < made; ++i) (void)step(other, 1);
    if (all_states(program_, session) != all_states(program_, other))
      fail("the session is not as its steps left it");
    if (saved && mpc_session_load_checkpoint(session.get(), path.c_str()))
      fail("a checkpoint that was saved does not load");
    if (step(session, 2).loss != step(other, 2).loss)
      fail("the session continues differently");
    end(refused);
  });
}

// Turns the product of `predict` into a convolution of one pixel, for oneDNN.
// Products allocate nothing.
void run_on_library(program::InstructionT* product) {
  constexpr uint32_t kConv = 2;  // As kernels/catalog.def has it.
  product->kernel = kConv;
  product->attributes = {/*channels_last=*/0,
                         /*group=*/1,
                         1,
                         1,
                         0,
                         0};
  product->operands[0]->shape = {4, 4, 1};
  product->operands[1]->shape = {2, 4, 1};
  product->operands[2]->shape = {4, 2, 1};
}

// A kernel fails when all reserved memory is used up. If nothing was written
// before it, the session continues once memory is available again.
TEST(Sessions, ContinueAfterAKernelFailure) {
  PackageOptions options;
  options.edit = [](program::ProgramT& p) {
    for (auto& entry : p.variants[0]->entries)
      if (entry->name == "predict") {
        entry->reads_only = static_cast<uint32_t>(entry->instructions.size());
        run_on_library(entry->instructions.front().get());
      }
  };
  ProgramPtr program = load(make_package(options));
  const Scenario scenario = [&](const std::function<void()>& begin) {
    SessionPtr session = create(program), other = create(program);
    (void)step(session, 1);
    (void)step(other, 1);
    Batch batch(1);
    float y[8], expected[8];
    int64_t shape[2] = {4, 2};
    const mpc_tensor_t output = {
        sizeof(output), MPC_DTYPE_F32, 2, shape, y, {}};
    const mpc_tensor_t right = {sizeof(right), MPC_DTYPE_F32, 2,
                                shape,         expected,      {}};
    auto predict = [&](const SessionPtr& by, const mpc_tensor_t* to) {
      return mpc_session_run(by.get(), "predict", batch.tensors, 1, to, 1);
    };
    begin();
    mpc_status_t status = nullptr;
    for (int i = 0; i < 10000 && !status; ++i)
      status = predict(session, &output);
    (void)stop_refusing();
    if (mpc_status_code(status) != MPC_OUT_OF_MEMORY)
      fail(status ? mpc_status_message(status) : "no kernel fails");
    mpc_status_free(status);
    if (predict(session, &output) || predict(other, &right) ||
        !std::equal(y, y + 8, expected))
      fail("predicts differently afterwards");
    if (step(session, 2).loss != step(other, 2).loss)
      fail("trains differently afterwards");
    end(true);
  };
  EXPECT_TRUE(
      ended(run_child(Resource::kMemory, Refused::kAll, 1, scenario), kGood));
}

// Creates a session in a child process that may use `room` more bytes than now;
// returns the wait status. The exit code of the child is an mpc_code_t.
int create_with_room(const ProgramPtr& program, rlim_t room) {
  pid_t child = fork();
  if (child == 0) {
    long pages = 0;
    if (FILE* file = std::fopen("/proc/self/statm", "r")) {
      if (std::fscanf(file, "%ld", &pages) != 1) pages = 0;
      std::fclose(file);
    }
    rlimit limit = {};
    limit.rlim_cur = limit.rlim_max =
        static_cast<rlim_t>(pages) *
            static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) +
        room;
    (void)setrlimit(RLIMIT_AS, &limit);
    mpc_session_options_t options = {};
    options.struct_size = sizeof(options);
    options.threads = 1;
    mpc_session_t* session = nullptr;
    _exit(
        mpc_status_code(mpc_session_create(program.get(), &options, &session)));
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

// The memory reserved for oneDNN must be available before oneDNN is used.
TEST(Sessions, FailWithoutMemoryForOneDnn) {
  ProgramPtr program = load(make_package());
  bool refused = false, created = false;
  for (rlim_t room = 0; room <= 96 << 20; room += 2 << 20) {
    int status = create_with_room(program, room);
    ASSERT_TRUE(WIFEXITED(status)) << room << ": " << WTERMSIG(status);
    int code = WEXITSTATUS(status);
    refused |= code == MPC_OUT_OF_MEMORY;
    created |= code == MPC_OK;
    EXPECT_TRUE(code == MPC_OK || code == MPC_OUT_OF_MEMORY ||
                code == MPC_INCOMPATIBLE || code == MPC_IO)
        << room << ": " << code;
  }
  EXPECT_TRUE(refused);
  EXPECT_TRUE(created);
}

}  // namespace
}  // namespace mpc::test
