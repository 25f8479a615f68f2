// Teams: every part of a region runs exactly once; oneDNN's regions run on
// teams with the same results; idle threads sleep; training continues after
// fork().

#include "kernels/cpu/team/team.h"

#include <dnnl.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "kernels/cpu/dnnl/redirect.h"
#include "test/kernels/harness.h"

namespace mpc::kernels::testing {
namespace {

std::unique_ptr<Team> start(int size) {
  std::string error;
  std::unique_ptr<Team> team = Team::start(size, &error);
  EXPECT_TRUE(team) << error;
  return team;
}

int threads_of_process() {
  int count = 0;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/self/task"))
    count += task.exists();
  return count;
}

// The sum of all parts' numbers plus one, times the number of parts.
int visit(int threads) {
  std::atomic<int> sum{0};
  parallel(threads, [&](int part, int parts) { sum += (part + 1) * parts; });
  return sum;
}

int expected(int threads) { return threads * threads * (threads + 1) / 2; }

TEST(Team, RunsEveryPartOnce) {
  for (int size : {1, 2, 3, 8}) {
    SCOPED_TRACE(size);
    const std::unique_ptr<Team> team = start(size);
    const TeamScope scope(team.get());
    for (int i = 0; i < 2000; ++i)
      ASSERT_EQ(visit(1 + i % size), expected(1 + i % size));
    EXPECT_EQ(visit(size + 5), expected(size));  // Limited to the team's size.
  }
}

// The next region wakes threads that sleep or did not take part in the last
// one.
TEST(Team, WakesThreadsThatSleep) {
  const std::unique_ptr<Team> team = start(4);
  const TeamScope scope(team.get());
  for (int i = 0; i < 30; ++i) {
    for (int j = 0; j < i; ++j) ASSERT_EQ(visit(2), expected(2));
    std::this_thread::sleep_for(std::chrono::microseconds(i * 20));
    ASSERT_EQ(visit(4), expected(4));
  }
}

TEST(Team, WaitsAtBarriers) {
  const std::unique_ptr<Team> team = start(4);
  const TeamScope scope(team.get());
  for (int threads : {2, 4}) {
    std::atomic<int> arrived{0}, wrong{0};
    parallel(threads, [&](int, int parts) {
      for (int round = 1; round <= 500; ++round) {
        ++arrived;
        parallel_barrier();
        if (arrived != round * parts) ++wrong;
        parallel_barrier();
      }
    });
    EXPECT_EQ(wrong, 0) << threads;
  }
}

TEST(Team, RunsARegionInsideOfOneOnOneThread) {
  const std::unique_ptr<Team> team = start(3);
  const TeamScope scope(team.get());
  std::atomic<int> sum{0};
  parallel(3, [&](int, int) { sum += visit(3); });
  EXPECT_EQ(sum, 3 * expected(1));
}

TEST(Team, DoesNotAffectOtherTeams) {
  const std::unique_ptr<Team> team = start(2);
  const std::unique_ptr<Team> other = start(3);
  const TeamScope scope(team.get());
  {
    const TeamScope inner(other.get());
    EXPECT_EQ(visit(3), expected(3));
  }
  EXPECT_EQ(visit(3), expected(2));
  // Another thread has no team and uses OpenMP's threads.
  std::thread([] {
    omp_set_num_threads(3);
    EXPECT_EQ(visit(3), expected(3));
  }).join();
}

// Calls in which oneDNN starts regions itself; the last one waits at a barrier
// in its region.
std::vector<KernelDesc> calls_of_dnnl() {
  const auto f32 = MPC_DTYPE_F32;
  const ConvCase conv = {16,     64,     64,     {28, 28}, {3, 3},
                         {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  return {{KernelId::matmul,
           {{f32, {300, 500}}, {f32, {700, 500}}, {f32, {300, 700}}},
           {false, true}},
          conv_desc(KernelId::conv, conv, true, f32, f32),
          conv_desc(KernelId::conv_grad_weight, conv, true, f32, f32)};
}

std::vector<Buffer> result_of(const KernelDesc& desc, const Context& context,
                              Team* team) {
  const TeamScope scope(team);
  const ThreadScope threads(context.threads);
  std::vector<std::vector<double>> inputs;
  for (size_t i = 0; i < input_count(desc); ++i)
    inputs.push_back(
        uniform(static_cast<int>(i) + 1, element_count(desc.operands[i])));
  std::vector<Buffer> operands = make_operands(desc, inputs);
  std::string error;
  const auto kernel = make_cpu_kernel(desc, context, &error);
  EXPECT_TRUE(kernel) << error;
  if (kernel) run(*kernel, operands);
  return operands;
}

TEST(Team, RunsTheRegionsOfOneDnn) {
  // True for Debian's oneDNN; otherwise sessions use OpenMP's threads.
  ASSERT_TRUE(dnnl_runs_on_teams());
  // A separate thread, which has not started an OpenMP region yet.
  std::thread([] {
    constexpr int kThreads = 5;
    const std::unique_ptr<Team> team = start(kThreads);
    const int before = threads_of_process();
    std::vector<std::vector<Buffer>> results;
    for (bool deterministic : {false, true})
      for (const KernelDesc& desc : calls_of_dnnl())
        results.push_back(
            result_of(desc, {kThreads, deterministic}, team.get()));
    // There may be fewer: threads of the previous test may still have been
    // ending.
    const int during = threads_of_process();
    EXPECT_LE(during, before);
    // The same on OpenMP's threads: same parts, same results.
    size_t i = 0;
    for (bool deterministic : {false, true})
      for (const KernelDesc& desc : calls_of_dnnl())
        EXPECT_TRUE(results[i++].back() ==
                    result_of(desc, {kThreads, deterministic}, nullptr).back());
    EXPECT_GT(threads_of_process(), during);
  }).join();
}

// The parts of regions are the same, whether threads have joined or not.
TEST(Team, RunsOnBorrowedThreads) {
  const std::unique_ptr<Team> team = Team::borrow(3);
  for (int round = 0; round < 300; ++round) {
    std::thread others[2];
    for (int number : {1, 2})
      others[number - 1] = std::thread([&, number] {
        if (round % 3 == 0)
          std::this_thread::sleep_for(std::chrono::microseconds(200));
        team->join(number);
        // The thread is the program's again.
        const int before = omp_get_max_threads();
        const ThreadScope threads(before + 1);
        EXPECT_EQ(omp_get_max_threads(), before + 1);
      });
    {
      const TeamScope scope(team.get());
      for (int i = 0; i < round % 4; ++i) EXPECT_EQ(visit(3), expected(3));
      std::atomic<int> arrived{0};
      if (round % 2 == 0)
        parallel(3, [&](int, int) {
          ++arrived;
          parallel_barrier();
          EXPECT_EQ(arrived, 3);
        });
    }
    team->dismiss();
    for (std::thread& other : others) other.join();
  }
}

TEST(Team, SleepsWhenThereIsNothingToDo) {
  const std::unique_ptr<Team> team = start(2);
  const TeamScope scope(team.get());
  const auto cpu_seconds = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec +
                                      usage.ru_stime.tv_usec);
  };
  double used = 0;
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(visit(2), expected(2));
    const double begin = cpu_seconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    used += cpu_seconds() - begin;
  }
  // A thread of libgomp spins for milliseconds each time, this one for 0.05 ms.
  // The process does little else in 200 ms.
  EXPECT_LT(used, 0.02);
}

TEST(Team, RestartsAfterFork) {
  const std::unique_ptr<Team> team = start(3);
  {
    const TeamScope scope(team.get());
    ASSERT_EQ(visit(3), expected(3));
  }
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    alarm(60);
    std::string error;
    if (!team->restart_after_fork(&error)) _exit(1);
    const TeamScope scope(team.get());
    _exit(visit(3) == expected(3) ? 0 : 2);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  std::string error;
  EXPECT_TRUE(team->restart_after_fork(&error));
  const TeamScope scope(team.get());
  EXPECT_EQ(visit(3), expected(3));
}

TEST(Team, ObeysOpenMpsPlaces) {
  if (omp_get_proc_bind() == omp_proc_bind_false)
    GTEST_SKIP() << "OMP_PROC_BIND is not set";
  const int cpus = omp_get_num_places();
  const std::unique_ptr<Team> team = start(cpus);
  const TeamScope scope(team.get());
  std::vector<std::atomic<int>> threads_on(CPU_SETSIZE);
  parallel(cpus, [&](int part, int) {
    parallel_barrier();  // Otherwise one thread may run two parts.
    cpu_set_t set;
    sched_getaffinity(0, sizeof(set), &set);
    // The first part runs on the thread of the test.
    EXPECT_TRUE(part == 0 || CPU_COUNT(&set) == 1);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) ++threads_on[cpu];
  });
  for (const std::atomic<int>& threads : threads_on) EXPECT_LE(threads, 1);
}

TEST(Redirections, AreAllMadeOrNone) {
  Redirection wrong[] = {
      {"omp_get_max_threads", reinterpret_cast<void*>(&omp_get_max_threads),
       nullptr},
      {"omp_get_no_threads", nullptr, nullptr}};
  EXPECT_FALSE(redirect_calls(dnnl_version(), wrong, 2));
  EXPECT_EQ(wrong[0].before, nullptr);
  // The address is not in a library.
  EXPECT_FALSE(redirect_calls(wrong, wrong, 1));
}

TEST(Redirections, AreOptionalIfTheLibraryDoesNotCallTheFunction) {
  Redirection redirection =
      optional_redirection("omp_get_no_threads", &omp_get_max_threads);
  EXPECT_TRUE(redirect_calls(dnnl_version(), &redirection, 1));
  EXPECT_EQ(redirection.before, nullptr);
}

}  // namespace
}  // namespace mpc::kernels::testing
