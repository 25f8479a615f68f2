// What happens when memory ends, the disk fails, or the process is killed.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "runtime/src/session/session.h"
#include "test/runtime/faults/allocations.h"
#include "test/runtime/package.h"

namespace mpc::test {
namespace {

Outcome save(const SessionPtr& session, const std::string& path) {
  return take(mpc_session_save_checkpoint(session.get(), path.c_str()));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

// oneDNN allocates in each call, and what it does without memory is not ours to
// test: this program has generated code and the copy kernel only.
Bytes package_without_library() {
  PackageOptions options;
  options.edit = [](program::ProgramT& p) {
    auto& matmul = *p.variants[0]->entries[2]->instructions[0];
    matmul.kernel = 10;
    matmul.attributes.clear();
    matmul.operands.erase(matmul.operands.begin());
  };
  return make_package(options);
}

TEST(Faults, StepsAllocateNothing) {
  if (!can_watch_allocations()) GTEST_SKIP();
  ProgramPtr program = load(package_without_library());
  for (uint32_t threads : {1u, 2u}) {
    SessionPtr session = create(program, threads);
    Batch batch(1);
    mpc_step_info_t info = {};
    info.struct_size = sizeof(info);
    mpc_metrics_t metrics = {};
    metrics.struct_size = sizeof(metrics);
    float y[8];
    int64_t shape[2] = {4, 2};
    mpc_tensor_t output = {sizeof(output), MPC_DTYPE_F32, 2, shape, y, {}};
    bool good = true;
    auto use_all = [&] {
      good &= !mpc_session_step(session.get(), batch.tensors, 2, &info);
      good &=
          !mpc_session_evaluate(session.get(), batch.tensors, 2, 3, &metrics);
      good &= !mpc_session_run(session.get(), "predict", batch.tensors, 1,
                               &output, 1);
      good &= !mpc_session_run(session.get(), "count", nullptr, 0, nullptr, 0);
    };
    use_all();  // OpenMP makes its threads at the first use.
    int64_t count;
    {
      AllocationWatch watch;
      for (int i = 0; i < 10; ++i) use_all();
      count = watch.count();
    }
    EXPECT_EQ(count, 0);
    EXPECT_TRUE(good);
  }
}

// Runs `attempt` with the n-th allocation failing for every n until none
// fails; it returns the outcome of the call under test.
void fail_every_allocation(
    const std::function<Outcome()>& attempt,
    const std::function<void()>& check = [] {}) {
  for (int64_t n = 1;; ++n) {
    ASSERT_LT(n, 100000);
    bool failed;
    mpc_code_t code;
    {
      AllocationWatch watch(n);
      code = attempt().code;
      failed = watch.failed();
    }
    check();
    if (!failed) {
      EXPECT_EQ(code, MPC_OK);
      return;
    }
    // An allocation whose failure costs nothing may be passed over.
    EXPECT_TRUE(code == MPC_OUT_OF_MEMORY || code == MPC_INCOMPATIBLE ||
                code == MPC_IO || code == MPC_OK)
        << n << ": " << code;
  }
}

TEST(Faults, LoadingSurvivesEveryFailedAllocation) {
  if (!can_watch_allocations()) GTEST_SKIP();
  Bytes package = make_package();
  fail_every_allocation([&] {
    mpc_program_t* program = nullptr;
    mpc_status_t status =
        mpc_program_load_memory(package.data(), package.size(), &program);
    Outcome outcome{mpc_status_code(status), ""};
    mpc_status_free(status);
    mpc_program_destroy(program);
    return outcome;
  });
  AllocationWatch watch;
  mpc_program_t* program = nullptr;
  mpc_status_t status =
      mpc_program_load_memory(package.data(), package.size(), &program);
  mpc_program_destroy(program);
  EXPECT_EQ(watch.live(), 0);
  EXPECT_EQ(status, nullptr);
}

TEST(Faults, CreatingSurvivesEveryFailedAllocation) {
  if (!can_watch_allocations()) GTEST_SKIP();
  ProgramPtr program = load(package_without_library());
  mpc_session_options_t options = {};
  options.struct_size = sizeof(options);
  options.threads = 1;
  // libgomp ends the process when its first few bytes for a thread fail.
  (void)create(program);
  fail_every_allocation([&] {
    mpc_session_t* session = nullptr;
    mpc_status_t status = mpc_session_create(program.get(), &options, &session);
    Outcome outcome{mpc_status_code(status), ""};
    EXPECT_EQ(session != nullptr, !status);
    mpc_status_free(status);
    mpc_session_destroy(session);
    return outcome;
  });
}

// The allocator hook gets back what it gave, whichever request it refuses.
struct Hook {
  int live = 0, calls = 0, fail_at = 0;
};

TEST(Faults, TheAllocatorHookIsBalanced) {
  ProgramPtr program = load(make_package());
  bool created = false;
  for (int n = 1; !created; ++n) {
    Hook hook;
    hook.fail_at = n;
    mpc_allocator_t allocator = {
        &hook,
        [](void* user, size_t size, size_t alignment) -> void* {
          auto* state = static_cast<Hook*>(user);
          if (++state->calls == state->fail_at) return nullptr;
          ++state->live;
          return aligned_alloc(alignment,
                               (size + alignment - 1) / alignment * alignment);
        },
        [](void* user, void* pointer) {
          --static_cast<Hook*>(user)->live;
          free(pointer);
        }};
    mpc_session_options_t options = {};
    options.struct_size = sizeof(options);
    options.allocator = &allocator;
    mpc_session_t* session = nullptr;
    Outcome outcome =
        take(mpc_session_create(program.get(), &options, &session));
    created = outcome.code == MPC_OK;
    EXPECT_EQ(created, hook.calls < n);
    EXPECT_EQ(outcome.code, created ? MPC_OK : MPC_OUT_OF_MEMORY);
    mpc_session_destroy(session);
    EXPECT_EQ(hook.live, 0);
    EXPECT_EQ(hook.calls, created ? 3 : n);  // States, arena, scratch.
  }
}

TEST(Faults, SavingAndLoadingSurviveEveryFailedAllocation) {
  if (!can_watch_allocations()) GTEST_SKIP();
  ProgramPtr program = load(package_without_library());
  Folder folder;
  SessionPtr session = create(program);
  std::string path = folder / "a";
  ASSERT_EQ(save(session, path).code, MPC_OK);
  Bytes old_states = all_states(program, session);
  (void)step(session, 1);
  Bytes new_states = all_states(program, session);
  SessionPtr reader = create(program);
  fail_every_allocation(
      [&] {
        mpc_status_t status =
            mpc_session_save_checkpoint(session.get(), path.c_str());
        Outcome outcome{mpc_status_code(status), ""};
        mpc_status_free(status);
        return outcome;
      },
      [&] {
        ASSERT_EQ(take(mpc_session_load_checkpoint(reader.get(), path.c_str()))
                      .message,
                  "");
        Bytes states = all_states(program, reader);
        ASSERT_TRUE(states == old_states || states == new_states);
      });
  SessionPtr target = create(program);
  Bytes before = all_states(program, target);
  fail_every_allocation([&] {
    mpc_status_t status =
        mpc_session_load_checkpoint(target.get(), path.c_str());
    Outcome outcome{mpc_status_code(status), ""};
    mpc_status_free(status);
    if (status) {
      EXPECT_EQ(all_states(program, target), before);
    }
    return outcome;
  });
  EXPECT_EQ(all_states(program, target), new_states);
}

//===----------------------------------------------------------------------===//
// Disk
//===----------------------------------------------------------------------===//

// Fails call number `fail_at`, or all from there on.
class FaultyFiles : public runtime::Files {
 public:
  enum class Fault { kError, kShortWrite, kInterrupted };

  int open(const char* path, int flags, int mode) override {
    return fails() ? -error : Files::open(path, flags, mode);
  }
  int64_t write(int file, const void* data, size_t size) override {
    if (!fails()) return Files::write(file, data, size);
    if (fault == Fault::kError) return -error;
    if (fault == Fault::kInterrupted) return -EINTR;
    return Files::write(file, data, size / 2 + 1);
  }
  int64_t read(int file, void* data, size_t size) override {
    if (!fails()) return Files::read(file, data, size);
    if (fault == Fault::kError) return -error;
    if (fault == Fault::kInterrupted) return -EINTR;
    return Files::read(file, data, size / 2 + 1);
  }
  int allocate(int file, uint64_t size) override {
    return fails() ? -error : Files::allocate(file, size);
  }
  // Not the disk's own: these tests are about what the program does.
  int sync(int) override { return fails() ? -error : 0; }
  int close(int file) override {
    int result = Files::close(file);
    return fails() ? -error : result;
  }
  int make_folder(const char* path) override {
    return fails() ? -error : Files::make_folder(path);
  }
  int rename(const char* from, const char* to, unsigned flags) override {
    if (flags != 0 && no_flags) return -EINVAL;
    return fails() ? -error : Files::rename(from, to, flags);
  }
  int remove_file(const char* path) override {
    return fails() ? -error : Files::remove_file(path);
  }
  int remove_folder(const char* path) override {
    return fails() ? -error : Files::remove_folder(path);
  }
  int list(const char* path, std::vector<std::string>* names) override {
    return fails() ? -error : Files::list(path, names);
  }

  void arm(int at) {
    calls = 0;
    fail_at = at;
  }

  Fault fault = Fault::kError;
  int error = EIO;
  bool sticky = false;    // Everything from there on fails: a dead disk.
  bool no_flags = false;  // A file system without exchange.
  int calls = 0;
  int fail_at = 0;

 private:
  bool fails() {
    ++calls;
    if (fail_at == 0) return false;
    if (fault != Fault::kError && calls != fail_at) return false;
    return sticky ? calls >= fail_at : calls == fail_at;
  }
};

SessionPtr create_on(const ProgramPtr& program, FaultyFiles& files) {
  mpc_session_t* session = nullptr;
  mpc_session_options_t options = {};
  options.struct_size = sizeof(options);
  options.threads = 1;
  EXPECT_OK(runtime::create_session(program.get(), &options, files, &session));
  return SessionPtr(session);
}

// Makes each call of a save fail in turn: afterwards the old or the new
// checkpoint is there and whole, and the new one if the save said so.
void check_save(FaultyFiles& files) {
  ProgramPtr program = load(package_without_library());
  Folder folder;
  SessionPtr session = create_on(program, files);
  SessionPtr reader = create(program);
  std::string path = folder / "step-1";
  for (int n = 1;; ++n) {
    ASSERT_LT(n, 1000);
    files.arm(0);
    ASSERT_EQ(save(session, path).message, "");
    Bytes old_states = all_states(program, session);
    (void)step(session, 1);
    Bytes new_states = all_states(program, session);
    files.arm(n);
    Outcome outcome = save(session, path);
    bool reached = files.calls >= n;
    files.arm(0);
    EXPECT_TRUE(outcome.code == MPC_OK || outcome.code == MPC_IO)
        << outcome.message;

    char* found = nullptr;
    char* warning = nullptr;
    ASSERT_EQ(take(mpc_session_load_latest(reader.get(), folder.path().c_str(),
                                           &found, &warning))
                  .message,
              "");
    ASSERT_NE(found, nullptr) << n;
    mpc_string_free(found);
    mpc_string_free(warning);
    Bytes states = all_states(program, reader);
    ASSERT_TRUE(states == new_states ||
                (states == old_states && outcome.code != MPC_OK))
        << n << ": " << outcome.message;
    if (!reached) {
      EXPECT_EQ(outcome.code, MPC_OK);
      return;
    }
    // Next round on a clean folder, whatever the fault left.
    std::string command = "rm -rf " + (folder / "step-1*");
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
}

TEST(Faults, SavingSurvivesEveryFailedCall) {
  for (int error : {EIO, ENOSPC})
    for (bool sticky : {false, true})
      for (bool no_flags : {false, true}) {
        FaultyFiles files;
        files.error = error;
        files.sticky = sticky;
        files.no_flags = no_flags;
        check_save(files);
      }
}

// Short writes and signals are no faults.
TEST(Faults, SavingGoesOnAfterShortWritesAndSignals) {
  for (auto fault :
       {FaultyFiles::Fault::kShortWrite, FaultyFiles::Fault::kInterrupted}) {
    ProgramPtr program = load(package_without_library());
    Folder folder;
    FaultyFiles files;
    files.fault = fault;
    SessionPtr session = create_on(program, files);
    SessionPtr reader = create(program);
    // Write calls lie among the first ones of a save.
    for (int n = 1; n < 40; ++n) {
      (void)step(session, 1);
      files.arm(n);
      mpc_code_t code = save(session, folder / "a").code;
      files.arm(0);
      if (code != MPC_OK) continue;  // Not a write: a fault after all.
      ASSERT_EQ(take(mpc_session_load_checkpoint(reader.get(),
                                                 (folder / "a").c_str()))
                    .message,
                "");
      ASSERT_EQ(all_states(program, reader), all_states(program, session));
    }
  }
}

TEST(Faults, LoadingSurvivesEveryFailedCall) {
  ProgramPtr program = load(package_without_library());
  Folder folder;
  SessionPtr writer = create(program);
  (void)step(writer, 1);
  ASSERT_EQ(save(writer, folder / "a").code, MPC_OK);
  Bytes saved = all_states(program, writer);
  FaultyFiles files;
  SessionPtr session = create_on(program, files);
  Bytes before = all_states(program, session);
  for (int n = 1;; ++n) {
    files.arm(n);
    Outcome outcome = take(
        mpc_session_load_checkpoint(session.get(), (folder / "a").c_str()));
    if (files.calls < n) {
      EXPECT_EQ(outcome.message, "");
      break;
    }
    if (outcome.code == MPC_OK) continue;  // Closing a file that was read.
    EXPECT_EQ(outcome.code, MPC_IO) << outcome.message;
    Bytes states = all_states(program, session);
    EXPECT_TRUE(states == saved || states == before);
  }
  EXPECT_EQ(all_states(program, session), saved);
}

//===----------------------------------------------------------------------===//
// kill -9
//===----------------------------------------------------------------------===//

constexpr int kKills = 100;
constexpr uint64_t kStepsAhead = 20;

float batch_value(uint64_t number) {
  return static_cast<float>(number % 17) - 8;
}

// What the child tells, and the parent reads when it is dead.
struct Told {
  volatile uint64_t saved;   // Steps in the last checkpoint that was done.
  volatile uint32_t saving;  // 1 during a save.
};

uint64_t next_step(const SessionPtr& session) {
  const char* text = mpc_session_get_property(session.get(), "next");
  return text ? std::strtoull(text, nullptr, 10) : 0;
}

// Trains on from the newest checkpoint, saving after every step, until killed.
[[noreturn]] void train_until_killed(const SessionPtr& session,
                                     const std::string& folder, Told* told) {
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
    told->saving = 1;
    if (mpc_session_save_checkpoint(session.get(), place.c_str())) _exit(5);
    told->saving = 0;
    told->saved = number;
    if (mpc_checkpoint_prune(folder.c_str(), 2)) _exit(6);
  }
}

// A run that nobody interrupts.
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

// Kills a child that does nothing but step and save, at 100 moments. Each time
// the newest checkpoint is whole, no older than the last save that was done,
// and training goes on from it bit for bit.
TEST(Faults, KillingNeverLosesACheckpoint) {
  PackageOptions options;
  options.loss_scale = 1 << 14;  // Some steps overflow.
  ProgramPtr program = load(make_package(options));
  Uninterrupted now(program), later(program);
  auto* told =
      static_cast<Told*>(mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(told, MAP_FAILED);
  Folder folder;
  std::mt19937 random(7);
  uint64_t last = 0;
  int kills_in_saves = 0;
  for (int i = 0; i < kKills; ++i) {
    SessionPtr session = create(program);
    told->saving = 0;
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) train_until_killed(session, folder.path(), told);
    usleep(1000 + random() % 30000);
    kill(child, SIGKILL);
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    kills_in_saves += static_cast<int>(told->saving);

    char* path = nullptr;
    char* warning = nullptr;
    ASSERT_EQ(take(mpc_session_load_latest(session.get(), folder.path().c_str(),
                                           &path, &warning))
                  .message,
              "");
    ASSERT_EQ(warning, nullptr) << warning;  // None is ever half there.
    uint64_t next = next_step(session);
    ASSERT_EQ(path != nullptr, next > 0);
    mpc_string_free(path);
    ASSERT_GE(next, told->saved);
    ASSERT_GE(next, last);
    last = next;
    ASSERT_EQ(all_states(program, session), now.states_after(next)) << next;
    for (uint64_t ahead = 0; ahead < kStepsAhead; ++ahead)
      (void)step(session, batch_value(next + ahead));
    ASSERT_EQ(all_states(program, session),
              later.states_after(next + kStepsAhead))
        << next;
  }
  (void)munmap(told, sizeof(Told));
  std::printf("%d of %d kills hit a save; %llu steps in all\n", kills_in_saves,
              kKills, static_cast<unsigned long long>(last));
  EXPECT_GT(last, 0u);
  EXPECT_GE(kills_in_saves, kKills / 4);
  // What the killed ones left goes with the next prune.
  EXPECT_OK(mpc_checkpoint_prune(folder.path().c_str(), 1));
  EXPECT_EQ(names_in(folder.path()).size(), 1u);
}

}  // namespace
}  // namespace mpc::test
