// The threads of a session: their number, and their interaction with other
// sessions, the program's own OpenMP, and fork().

#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "runtime/src/device/cpu/cpu_count.h"
#include "test/runtime/package.h"

namespace mpc::test {
namespace {

Bytes train(const ProgramPtr& program, const SessionPtr& session) {
  for (int i = 0; i < 50; ++i) (void)step(session, 1.0f);
  return all_states(program, session);
}

TEST(Threads, TwoSessionsTrainAtOnce) {
  ProgramPtr program = load(make_package());
  const Bytes alone = train(program, create(program, 2));
  Bytes states[2];
  std::thread threads[2];
  for (int i = 0; i < 2; ++i)
    threads[i] =
        std::thread([&, i] { states[i] = train(program, create(program, 2)); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(states[0], alone);
  EXPECT_EQ(states[1], alone);
}

TEST(Threads, SessionsTrainInsideOfTheProgramsOwnRegions) {
  ProgramPtr program = load(make_package());
  const Bytes alone = train(program, create(program, 2));
  const int before = omp_get_max_threads();
  Bytes states[3];
#pragma omp parallel num_threads(3)
  states[omp_get_thread_num()] = train(program, create(program, 2));
  for (const Bytes& each : states) EXPECT_EQ(each, alone);
  EXPECT_EQ(omp_get_max_threads(), before);
}

TEST(Threads, ForkedChildContinuesTraining) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program, 2);
  SessionPtr other = create(program, 2);
  (void)train(program, session);
  (void)train(program, other);
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    alarm(60);
    const Bytes states = train(program, session);
    session.reset();
    _exit(states == train(program, other) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(train(program, session), train(program, other));
}

// A step that cannot start for lack of resources does no harm: the child of a
// fork must start its threads again, which is not allowed here.
TEST(Threads, FailedStartCanBeRetried) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program, 2), other = create(program, 2);
  (void)train(program, other);
  Folder folder;
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    alarm(60);
    rlimit limit;
    getrlimit(RLIMIT_NPROC, &limit);
    const rlimit none = {0, limit.rlim_max};
    const Batch batch(1);
    const bool is_root = getuid() == 0;  // The limit does not apply to root.
    constexpr uid_t kNobody = 65534;
    if (is_root && setresuid(kNobody, kNobody, 0) != 0) _exit(5);
    setrlimit(RLIMIT_NPROC, &none);
    const mpc_code_t code =
        take(mpc_session_step(session.get(), batch.tensors, 2, nullptr)).code;
    setrlimit(RLIMIT_NPROC, &limit);
    if (is_root && setresuid(0, 0, 0) != 0) _exit(6);
    if (code != MPC_OUT_OF_MEMORY) _exit(2);
    if (mpc_session_save_checkpoint(session.get(), (folder / "c").c_str()))
      _exit(3);
    _exit(train(program, session) == all_states(program, other) ? 0 : 4);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Threads, AreAsManyAsTheThreadHasCpus) {
  if (std::getenv("OMP_NUM_THREADS")) GTEST_SKIP() << "OMP_NUM_THREADS is set";
  int one = 0, asked = 0;
  std::thread([&] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    sched_setaffinity(0, sizeof(set), &set);
    one = runtime::default_threads();
    setenv("OMP_NUM_THREADS", "3", 1);
    asked = runtime::default_threads();
    unsetenv("OMP_NUM_THREADS");
  }).join();
  EXPECT_EQ(one, 1);
  // OpenMP read the variable, or counted CPUs, when the process started.
  EXPECT_EQ(asked, omp_get_max_threads());
}

TEST(Threads, ControlGroupsLimitThem) {
  Folder folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories(
        std::filesystem::path(folder / name).parent_path());
    write_bytes(folder / name, Bytes(text.begin(), text.end()));
  };
  const auto quota = [&] {
    return runtime::cpu_quota(folder / "groups", folder.path());
  };
  EXPECT_EQ(quota(), 0);
  write("groups", "12:cpuset:/x\n0::/outer/inner\n");
  EXPECT_EQ(quota(), 0);
  write("outer/inner/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 0);
  write("outer/cpu.max", "250000 100000\n");
  EXPECT_EQ(quota(), 2.5);
  write("outer/inner/cpu.max", "300000 100000\n");
  EXPECT_EQ(quota(), 2.5);
  write("cpu.max", "50000 100000\n");  // The group of a container.
  EXPECT_EQ(quota(), 0.5);
  write("groups", "0::/\n");
  EXPECT_EQ(quota(), 0.5);
  write("cpu.max", "-5 0\n");
  EXPECT_EQ(quota(), 0);
}

}  // namespace
}  // namespace mpc::test
