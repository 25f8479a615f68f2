// Sessions on threads that the program lends: the same results as on threads of
// their own, whatever the pool gives.

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "mpc/runtime.hpp"
#include "test/runtime/package.h"

namespace mpc::test {
namespace {

using Body = ThreadPool::Body;

constexpr uint32_t kThreads = 3;

// Threads that sessions have started. The program's own threads come and go: a
// thread is listed for a moment after it has been joined.
int threads_of_sessions() {
  int count = 0;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    count += std::getline(file, name) && name == "mpc-worker";
  }
  return count;
}

// Waits until there are `count`: a thread may not have its name yet, or be
// listed after its end.
void expect_threads_of_sessions(int count) {
  const auto limit =
      std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (threads_of_sessions() != count &&
         std::chrono::steady_clock::now() < limit)
    std::this_thread::yield();
  EXPECT_EQ(threads_of_sessions(), count);
}

void on_openmp(uint32_t threads, const Body& body) {
#pragma omp parallel num_threads(threads)
  body(static_cast<uint32_t>(omp_get_thread_num()),
       static_cast<uint32_t>(omp_get_num_threads()));
}

// New threads each time; the last one arrives when the work may be done.
void on_new_threads(uint32_t threads, const Body& body) {
  std::vector<std::thread> others;
  for (uint32_t i = 1; i < threads; ++i)
    others.emplace_back([&, i] {
      if (i == kThreads - 1)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      body(i, threads);
    });
  body(0, threads);
  for (std::thread& other : others) other.join();
}

SessionPtr create_on(const ProgramPtr& program, const mpc_thread_pool_t* pool) {
  mpc_session_options_t options = {};
  options.struct_size = sizeof(options);
  options.threads = kThreads;
  options.thread_pool = pool;
  mpc_session_t* session = nullptr;
  const Outcome outcome =
      take(mpc_session_create(program.get(), &options, &session));
  EXPECT_EQ(outcome.code, MPC_OK) << outcome.message;
  return SessionPtr(session);
}

// A program with functions that run in several parts.
ProgramPtr make_program() {
  PackageOptions options;
  options.accumulate = 2;
  return load(make_package(options));
}

Bytes train(const ProgramPtr& program, const SessionPtr& session, int steps) {
  for (int i = 0; i < steps; ++i) (void)step(session, 0.5f);
  EXPECT_EQ(
      take(mpc_session_run(session.get(), "count", nullptr, 0, nullptr, 0))
          .code,
      MPC_OK);
  return all_states(program, session);
}

// The states after training on threads of the session.
Bytes expected(const ProgramPtr& program, int steps) {
  return train(program, create_on(program, nullptr), steps);
}

TEST(ThreadPool, GivesTheSameResults) {
  const ProgramPtr program = make_program();
  const Bytes alone = expected(program, 50);
  const ThreadPool openmp(on_openmp), fresh(on_new_threads);
  for (const ThreadPool* pool : {&openmp, &fresh})
    EXPECT_EQ(train(program, create_on(program, pool->get()), 50), alone);
}

TEST(ThreadPool, NeedsNoThreadsOfTheSession) {
  const ProgramPtr program = make_program();
  expect_threads_of_sessions(0);
  int most = 0;
  const ThreadPool pool([&](uint32_t threads, const Body& body) {
    on_new_threads(threads, body);
    most = std::max(most, threads_of_sessions());
  });
  (void)train(program, create_on(program, pool.get()), 5);
  EXPECT_EQ(most, 0);
}

// As inside of a parallel region of the program: the session starts threads.
TEST(ThreadPool, MayGiveFewerThreads) {
  const ProgramPtr program = make_program();
  const Bytes alone = expected(program, 51);
  for (uint32_t given : {1u, 2u}) {
    int calls = 0;
    const ThreadPool pool([&](uint32_t threads, const Body& body) {
      on_new_threads(++calls % 3 == 0 ? given : threads, body);
    });
    expect_threads_of_sessions(0);
    const SessionPtr session = create_on(program, pool.get());
    EXPECT_EQ(train(program, session, 51), alone) << given;
    expect_threads_of_sessions(static_cast<int>(kThreads) - 1);
  }
  const ThreadPool openmp(on_openmp);
  Bytes states[2];
#pragma omp parallel num_threads(2)
  states[omp_get_thread_num()] =
      train(program, create_on(program, openmp.get()), 51);
  for (const Bytes& each : states) EXPECT_EQ(each, alone);
}

TEST(ThreadPool, MayGiveMoreThreads) {
  const ProgramPtr program = make_program();
  const ThreadPool pool([](uint32_t threads, const Body& body) {
    on_new_threads(threads + 2, body);
  });
  EXPECT_EQ(train(program, create_on(program, pool.get()), 9),
            expected(program, 9));
}

TEST(ThreadPool, ServesTwoSessionsAtOnce) {
  const ProgramPtr program = make_program();
  const Bytes alone = expected(program, 50);
  const ThreadPool openmp(on_openmp);
  Bytes states[2];
  std::thread threads[2];
  for (int i = 0; i < 2; ++i)
    threads[i] = std::thread([&, i] {
      states[i] = train(program, create_on(program, openmp.get()), 50);
    });
  for (std::thread& thread : threads) thread.join();
  for (const Bytes& each : states) EXPECT_EQ(each, alone);
}

TEST(ThreadPool, ServesManySmallSteps) {
  const ProgramPtr program = make_program();
  const ThreadPool openmp(on_openmp);
  const SessionPtr session = create_on(program, openmp.get());
  EXPECT_EQ(train(program, session, 100000), expected(program, 100000));
}

#if defined(__SSE2__)
TEST(ThreadPool, KeepsTheModesOfItsThreads) {
  constexpr unsigned kFlushToZero = 0x8000;
  const ProgramPtr program = make_program();
  std::atomic<int> changed{0};
  const ThreadPool pool([&](uint32_t threads, const Body& body) {
    on_new_threads(threads, [&](uint32_t number, uint32_t count) {
      const unsigned mode = _mm_getcsr() | kFlushToZero;
      _mm_setcsr(mode);
      body(number, count);
      changed += ((_mm_getcsr() ^ mode) & kFlushToZero) != 0;
    });
  });
  EXPECT_EQ(train(program, create_on(program, pool.get()), 20),
            expected(program, 20));
  EXPECT_EQ(changed, 0);
  _mm_setcsr(_mm_getcsr() & ~kFlushToZero);
}
#endif

TEST(ThreadPool, ServesAForkedChild) {
  const ProgramPtr program = make_program();
  const ThreadPool fresh(on_new_threads);
  const SessionPtr session = create_on(program, fresh.get());
  (void)train(program, session, 10);
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    alarm(60);
    _exit(train(program, session, 10).empty() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(ThreadPool, IsChecked) {
  const ProgramPtr program = make_program();
  mpc_session_options_t options = {};
  options.struct_size = sizeof(options);
  options.threads = kThreads;
  const mpc_thread_pool_t empty = {};
  options.thread_pool = &empty;
  mpc_session_t* session = nullptr;
  Outcome outcome = take(mpc_session_create(program.get(), &options, &session));
  EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
  EXPECT_NE(outcome.message.find("'run'"), std::string::npos);
  const ThreadPool idle([](uint32_t, const Body&) {});
  options.thread_pool = idle.get();
  outcome = take(mpc_session_create(program.get(), &options, &session));
  EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
  EXPECT_NE(outcome.message.find("number 0"), std::string::npos);
}

}  // namespace
}  // namespace mpc::test
