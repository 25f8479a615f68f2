// Disk failures while checkpoints are written and read.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/src/session/session.h"
#include "test/runtime/faults/calls.h"

namespace mpc::test {
namespace {

// Makes call number `fail_at` fail, or all calls from there on.
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
  // Does not really sync, which these tests do not need.
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
  bool sticky = false;    // All later calls also fail: a dead disk.
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

// Makes each call of a save fail in turn. Afterwards the old or the new
// checkpoint exists and is complete; it is the new one if the save succeeded.
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
    // Clean the folder for the next round.
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

// Short writes and signals are not errors.
TEST(Faults, SavingContinuesAfterShortWritesAndSignals) {
  for (auto fault :
       {FaultyFiles::Fault::kShortWrite, FaultyFiles::Fault::kInterrupted}) {
    ProgramPtr program = load(package_without_library());
    Folder folder;
    FaultyFiles files;
    files.fault = fault;
    SessionPtr session = create_on(program, files);
    SessionPtr reader = create(program);
    // Write calls are among the first calls of a save.
    for (int n = 1; n < 40; ++n) {
      (void)step(session, 1);
      files.arm(n);
      mpc_code_t code = save(session, folder / "a").code;
      files.arm(0);
      if (code != MPC_OK) continue;  // Not a write, so it is an error.
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
    if (outcome.code == MPC_OK) continue;  // Only closing a file failed.
    EXPECT_EQ(outcome.code, MPC_IO) << outcome.message;
    Bytes states = all_states(program, session);
    EXPECT_TRUE(states == saved || states == before);
  }
  EXPECT_EQ(all_states(program, session), saved);
}

}  // namespace
}  // namespace mpc::test
