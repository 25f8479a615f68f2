// Folders of checkpoints: finding the latest, and pruning.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "runtime/src/checkpoint/checkpoint.h"
#include "test/runtime/checkpoint/save.h"
#include "test/runtime/package.h"

namespace mpc::test {
namespace {

struct Latest {
  Outcome outcome;
  std::string path, warning;
};

Latest load_latest(const SessionPtr& session, const std::string& folder) {
  char* path = nullptr;
  char* warning = nullptr;
  Latest latest;
  latest.outcome = take(
      mpc_session_load_latest(session.get(), folder.c_str(), &path, &warning));
  if (path) latest.path = path;
  if (warning) latest.warning = warning;
  mpc_string_free(path);
  mpc_string_free(warning);
  return latest;
}

TEST(Checkpoint, FallsBackToTheNewestIntactCheckpoint) {
  Folder folder;
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  Latest latest = load_latest(session, folder.path());
  EXPECT_EQ(latest.outcome.code, MPC_OK);
  EXPECT_EQ(latest.path, "");
  EXPECT_EQ(load_latest(session, folder / "none").outcome.code, MPC_OK);

  // Names are compared by number: 10 is newer than 9.
  for (const char* name :
       {"step-9", "step-10", "step-100", "step-x", "other"}) {
    (void)step(session, 1);
    EXPECT_EQ(save(session, folder / name).code, MPC_OK);
  }
  latest = load_latest(session, folder.path());
  EXPECT_EQ(latest.path, folder / "step-100");
  EXPECT_EQ(latest.warning, "");

  write_bytes(folder / "step-100/state.json", {'{'});
  latest = load_latest(session, folder.path());
  EXPECT_EQ(latest.path, folder / "step-10");
  EXPECT_EQ(
      latest.warning,
      "'" + (folder / "step-100/state.json") +
          "' is damaged: it has 1 bytes instead of " +
          std::to_string(read_bytes(folder / "step-10/state.json").size()));
  unlink((folder / "step-10/MANIFEST.json").c_str());
  unlink((folder / "step-9/model.safetensors").c_str());
  Bytes before = all_states(program, session);
  latest = load_latest(session, folder.path());
  EXPECT_EQ(latest.outcome.code, MPC_DAMAGED);
  EXPECT_NE(latest.outcome.message.find("no checkpoint in"), std::string::npos);
  EXPECT_EQ(all_states(program, session), before);

  // The state between the two renames on a file system without exchange.
  ASSERT_EQ(save(session, folder / "step-200").code, MPC_OK);
  std::string aside = folder / "step-200.old-1-00000000-0000000000000000";
  ASSERT_EQ(rename((folder / "step-200").c_str(), aside.c_str()), 0);
  EXPECT_EQ(load_latest(session, folder.path()).path, aside);
}

// A checkpoint that cannot be read now may be intact: loading an older one
// would silently discard the training since.
TEST(Checkpoint, FallsBackOnlyFromDamagedCheckpoints) {
  Folder folder;
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  for (const char* name : {"step-1", "step-2"}) {
    (void)step(session, 1);
    EXPECT_EQ(save(session, folder / name).code, MPC_OK);
  }
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  // Enough file descriptors to list the folder, but not to open its files.
  for (rlim_t files = 3; files < 64; ++files) {
    rlimit tight = {files, limit.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
    Latest latest = load_latest(session, folder.path());
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    if (latest.outcome.code == MPC_OK)
      EXPECT_EQ(latest.path, folder / "step-2") << files;
    else
      EXPECT_EQ(latest.outcome.code, MPC_IO) << latest.outcome.message;
  }
  // A file named like a checkpoint does not affect the others.
  write_bytes(folder / "step-8", {1});
  ASSERT_EQ(symlink("nowhere", (folder / "step-9").c_str()), 0);
  Latest latest = load_latest(session, folder.path());
  EXPECT_EQ(latest.path, folder / "step-2");
  EXPECT_NE(latest.warning.find("step-8"), std::string::npos);
  EXPECT_NE(latest.warning.find("step-9"), std::string::npos);
}

// Leftovers of a process that was killed while pruning and is still a zombie.
TEST(Checkpoint, RemovesLeftoversOfAKilledPrune) {
  Folder folder;
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  EXPECT_EQ(save(session, folder / "step-9").code, MPC_OK);
  pid_t killed = fork();
  if (killed == 0) pause();
  std::string mine = "-" + std::to_string(getpid()) + "-";
  for (const char* name :
       {"step-1", "step-2.old-1-00000000-0000000000000000"}) {
    std::string left = runtime::unique_sibling_name(folder / name, "tmp");
    left.replace(left.rfind(mine), mine.size(),
                 "-" + std::to_string(killed) + "-");
    EXPECT_EQ(save(session, left).code, MPC_OK);
  }
  std::vector<std::string> all = names_in(folder.path());
  EXPECT_EQ(all.size(), 3u);
  auto remove_leftovers = [](const std::string& path) {
    return mpc_checkpoint_remove_leftovers(path.c_str());
  };
  EXPECT_OK(remove_leftovers(folder.path()));
  EXPECT_EQ(names_in(folder.path()), all) << "it is still at it";
  ASSERT_EQ(kill(killed, SIGKILL), 0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(killed), &info, WEXITED | WNOWAIT),
            0);
  EXPECT_OK(remove_leftovers(folder.path()));
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"step-9"});
  EXPECT_EQ(waitpid(killed, nullptr, 0), killed);
  EXPECT_OK(remove_leftovers(folder / "none"));
  EXPECT_EQ(take(mpc_checkpoint_remove_leftovers(nullptr)).code,
            MPC_INVALID_ARGUMENT);
}

TEST(Checkpoint, ResumesFromTheNewest) {
  Folder folder;
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  char *path, *warning, *mismatch;
  EXPECT_OK(mpc_session_resume(session.get(), folder.path().c_str(), &path,
                               &warning, &mismatch));
  EXPECT_EQ(path, nullptr);
  for (const char* name : {"step-1", "step-2", "step-3"})
    EXPECT_EQ(save(session, folder / name).code, MPC_OK);
  write_bytes(folder / "step-3/state.json", {'{'});
  EXPECT_OK(mpc_session_resume(session.get(), folder.path().c_str(), &path,
                               &warning, &mismatch));
  EXPECT_EQ(path, folder / "step-2");
  EXPECT_NE(warning, nullptr);
  EXPECT_EQ(mismatch, nullptr) << "the optimizer is the same";
  mpc_string_free(path);
  mpc_string_free(warning);
  EXPECT_EQ(take(mpc_session_resume(session.get(), folder.path().c_str(), &path,
                                    &warning, nullptr))
                .code,
            MPC_INVALID_ARGUMENT);
}

TEST(Checkpoint, PrunesOldCheckpointsAndLeftovers) {
  Folder folder;
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  for (int i = 1; i <= 6; ++i) {
    (void)step(session, 1);
    EXPECT_EQ(save(session, folder / ("step-" + std::to_string(i))).code,
              MPC_OK);
  }
  write_bytes(folder / "step-6/model.safetensors", {1});
  write_bytes(folder / "step-1/notes.txt", {1});  // A file of the user.
  // Unfinished checkpoints: of a process that is gone, and of a live one.
  pid_t gone = fork();
  if (gone == 0) _exit(0);
  ASSERT_EQ(waitpid(gone, nullptr, 0), gone);
  std::string alive = runtime::unique_sibling_name("step-8", "tmp");
  std::string dead = alive;
  std::string mine = std::to_string(getpid());
  dead.replace(dead.find(mine), mine.size(), std::to_string(gone));
  for (const std::string& name : {alive, dead})
    ASSERT_EQ(mkdir((folder / name).c_str(), 0755), 0);
  write_bytes(folder / (dead + "/state.json"), {1});
  EXPECT_EQ(save(session, folder / "probe").code, MPC_OK);
  EXPECT_OK(mpc_checkpoint_prune(folder.path().c_str(), 2));
  EXPECT_EQ(
      names_in(folder.path()),
      (std::vector<std::string>{"probe", "step-1", "step-4", "step-5", alive}));
  EXPECT_EQ(take(mpc_checkpoint_prune(folder.path().c_str(), 0)).code,
            MPC_INVALID_ARGUMENT);
  EXPECT_EQ(take(mpc_checkpoint_prune((folder / "none").c_str(), 1)).code,
            MPC_IO);

  // After an hour without a change it counts as abandoned.
  timespec old[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (folder / alive).c_str(), old, 0), 0);
  // Without a complete checkpoint, nothing is removed.
  unlink((folder / "step-1/MANIFEST.json").c_str());
  write_bytes(folder / "step-4/state.json", {1});
  write_bytes(folder / "step-5/state.json", {1});
  EXPECT_OK(mpc_checkpoint_prune(folder.path().c_str(), 1));
  EXPECT_EQ(names_in(folder.path()),
            (std::vector<std::string>{"probe", "step-1", "step-4", "step-5"}));
}

}  // namespace
}  // namespace mpc::test
