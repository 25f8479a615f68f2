// Folders and files that somebody arranged to do harm: nothing that is not ours
// is touched, and nothing costs more than its own size.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/src/checkpoint/checkpoint.h"
#include "test/runtime/package.h"

namespace mpc::test {
namespace {

Outcome save(const SessionPtr& session, const std::string& path) {
  return take(mpc_session_save_checkpoint(session.get(), path.c_str()));
}

// The name of a temporary folder whose writer is gone.
std::string abandoned(const std::string& checkpoint) {
  pid_t gone = fork();
  if (gone == 0) _exit(0);
  EXPECT_EQ(waitpid(gone, nullptr, 0), gone);
  std::string name = runtime::name_beside(checkpoint, "tmp");
  std::string mine = ".tmp-" + std::to_string(getpid());
  return name.replace(name.find(mine), mine.size(),
                      ".tmp-" + std::to_string(gone));
}

TEST(Hostile, PruningFollowsNoLinks) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  Folder other, run;
  ASSERT_EQ(save(session, other / "step-7").code, MPC_OK);
  for (const char* name : {"step-1", "step-2", "step-3"})
    ASSERT_EQ(save(session, run / name).code, MPC_OK);
  std::vector<std::string> links = {
      "step-8", "step-8.old-1-00000000-0000000000000000", abandoned("step-9"),
      "step-9.tmp-1-00000000-0000000000000000"};
  for (const std::string& name : links)
    ASSERT_EQ(symlink((other / "step-7").c_str(), (run / name).c_str()), 0);

  // One stays, and it is not the link to a newer one.
  EXPECT_OK(mpc_checkpoint_prune(run.path().c_str(), 1));
  std::vector<std::string> left = names_in(run.path());
  links.push_back("step-3");
  std::sort(links.begin(), links.end());
  EXPECT_EQ(left, links);
  SessionPtr fresh = create(program);
  EXPECT_OK(
      mpc_session_load_checkpoint(fresh.get(), (other / "step-7").c_str()));
  EXPECT_OK(mpc_session_load_checkpoint(fresh.get(), (run / "step-3").c_str()));
}

// A name like ours does not make a folder ours.
TEST(Hostile, PruningKeepsFoldersThatHoldMore) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  Folder run;
  ASSERT_EQ(save(session, run / "step-1").code, MPC_OK);
  std::string thesis = abandoned("step-2");
  ASSERT_EQ(mkdir((run / thesis).c_str(), 0755), 0);
  write_bytes(run / (thesis + "/state.json"), {1});
  write_bytes(run / (thesis + "/thesis.tex"), {1});
  EXPECT_OK(mpc_checkpoint_prune(run.path().c_str(), 1));
  EXPECT_EQ(names_in(run / thesis),
            (std::vector<std::string>{"state.json", "thesis.tex"}));
}

}  // namespace
}  // namespace mpc::test
