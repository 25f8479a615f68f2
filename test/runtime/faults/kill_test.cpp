// Checkpoints after the process has been killed.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <random>

#include "test/runtime/faults/calls.h"

namespace mpc::test {
namespace {

constexpr int kKills = 100;
constexpr uint64_t kStepsAhead = 20;

float batch_value(uint64_t number) {
  return static_cast<float>(number % 17) - 8;
}

// Shared memory that the child writes and the parent reads after its death.
struct SharedProgress {
  volatile uint64_t saved;   // Steps in the last completed checkpoint.
  volatile uint32_t saving;  // 1 during a save.
};

uint64_t next_step(const SessionPtr& session) {
  const char* text = mpc_session_get_property(session.get(), "next");
  return text ? std::strtoull(text, nullptr, 10) : 0;
}

// Continues from the newest checkpoint and saves after every step, until
// killed.
[[noreturn]] void train_until_killed(const SessionPtr& session,
                                     const std::string& folder,
                                     SharedProgress* progress) {
  char* path = nullptr;
  char* warning = nullptr;
  if (mpc_session_load_latest(session.get(), folder.c_str(), &path, &warning))
    _exit(2);
  for (uint64_t number = next_step(session);;) {
    Batch batch(batch_value(number));
    if (mpc_session_step(session.get(), batch.tensors, 2, nullptr)) _exit(3);
    ++number;
    std::string text = std::to_string(number);
    if (mpc_session_set_property(session.get(), "next", text.c_str())) _exit(4);
    // Some steps replace a checkpoint, some write a new one.
    std::string place = folder + "/step-" + std::to_string(number / 3);
    progress->saving = 1;
    if (mpc_session_save_checkpoint(session.get(), place.c_str())) _exit(5);
    progress->saving = 0;
    progress->saved = number;
    if (mpc_checkpoint_prune(folder.c_str(), 2)) _exit(6);
  }
}

// A run that is not interrupted.
class Uninterrupted {
 public:
  explicit Uninterrupted(const ProgramPtr& program)
      : program_(program), session_(create(program)) {}

  // The states after `number` steps, no fewer than in the call before.
  Bytes states_after(uint64_t number) {
    for (; done_ < number; ++done_) (void)step(session_, batch_value(done_));
    return all_states(program_, session_);
  }

 private:
  const ProgramPtr& program_;
  SessionPtr session_;
  uint64_t done_ = 0;
};

// Kills a child that only trains and saves, at 100 moments. Each time the
// newest checkpoint is complete and no older than the last completed save, and
// training continues from it bit-exactly.
TEST(Faults, KillingNeverLosesACheckpoint) {
  PackageOptions options;
  options.loss_scale = 1 << 14;  // Some steps overflow.
  ProgramPtr program = load(make_package(options));
  Uninterrupted now(program), later(program);
  auto* progress = static_cast<SharedProgress*>(
      mmap(nullptr, sizeof(SharedProgress), PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(progress, MAP_FAILED);
  Folder folder;
  std::mt19937 random(7);
  uint64_t last = 0;
  int kills_in_saves = 0;
  for (int i = 0; i < kKills; ++i) {
    SessionPtr session = create(program);
    progress->saving = 0;
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) train_until_killed(session, folder.path(), progress);
    usleep(1000 + random() % 30000);
    kill(child, SIGKILL);
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    kills_in_saves += static_cast<int>(progress->saving);

    char* path = nullptr;
    char* warning = nullptr;
    ASSERT_EQ(take(mpc_session_load_latest(session.get(), folder.path().c_str(),
                                           &path, &warning))
                  .message,
              "");
    ASSERT_EQ(warning, nullptr) << warning;  // None is incomplete.
    uint64_t next = next_step(session);
    ASSERT_EQ(path != nullptr, next > 0);
    mpc_string_free(path);
    ASSERT_GE(next, progress->saved);
    ASSERT_GE(next, last);
    last = next;
    ASSERT_EQ(all_states(program, session), now.states_after(next)) << next;
    for (uint64_t ahead = 0; ahead < kStepsAhead; ++ahead)
      (void)step(session, batch_value(next + ahead));
    ASSERT_EQ(all_states(program, session),
              later.states_after(next + kStepsAhead))
        << next;
  }
  (void)munmap(progress, sizeof(SharedProgress));
  std::printf("%d of %d kills hit a save; %llu steps in all\n", kills_in_saves,
              kKills, static_cast<unsigned long long>(last));
  EXPECT_GT(last, 0u);
  EXPECT_GE(kills_in_saves, kKills / 4);
  // The next prune removes the leftovers of killed processes.
  EXPECT_OK(mpc_checkpoint_prune(folder.path().c_str(), 1));
  EXPECT_EQ(names_in(folder.path()).size(), 1u);
}

}  // namespace
}  // namespace mpc::test
