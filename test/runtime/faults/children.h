// Child processes in which the n-th allocation, mapping or thread is refused,
// for every n.

#ifndef MPC_TEST_RUNTIME_FAULTS_CHILDREN_H_
#define MPC_TEST_RUNTIME_FAULTS_CHILDREN_H_

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "test/runtime/faults/refusals.h"

namespace mpc::test {

// How a child ended. kNeverRefused: there are fewer than `n` requests.
// kRestart: the library reports that the process must be restarted, because
// oneDNN's first access to the environment allocates strings of the standard
// library, which is outside our control.
enum Exit { kGood = 0, kNeverRefused = 40, kRestart = 41, kWrong = 42 };
constexpr char kRestartText[] = "restart the process";

// Ends the child with a message about what went wrong.
[[noreturn]] inline void fail(const std::string& what) {
  (void)stop_refusing();
  if (what.find(kRestartText) != std::string::npos) _exit(kRestart);
  std::fprintf(stderr, "%s\n", what.c_str());
  _exit(kWrong);
}

inline const char* name_of(Resource resource) {
  switch (resource) {
    case Resource::kMemory:
      return "allocation";
    case Resource::kMapping:
      return "mapping";
    case Resource::kThread:
      return "thread";
  }
  return "";
}

// The work of a child: it calls `begin` when it is ready, after which requests
// are refused, and then exits, with end() if everything was as expected.
using Scenario = std::function<void(const std::function<void()>& begin)>;

[[noreturn]] inline void end(bool refused) {
  _exit(refused ? kGood : kNeverRefused);
}

// Runs `scenario` in a child in which request `n` is refused; returns the wait
// status. A child inherits the state of this process, which must not use
// oneDNN.
inline int run_child(Resource resource, Refused which, int64_t n,
                     const Scenario& scenario) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // A child that hangs is also a failure.
    try {
      scenario([&] { refuse(resource, n, which); });
    } catch (const std::exception& error) {
      fail(error.what());
    }
    fail("a scenario does not end its child");
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

inline bool ended(int status, Exit how) {
  return WIFEXITED(status) && WEXITSTATUS(status) == how;
}

// The number of requests that a scenario makes.
inline int64_t count_requests(Resource resource, const Scenario& scenario) {
  int64_t low = 0, high = 1 << 20;  // Refused at `low`, not at `high`.
  while (high - low > 1) {
    const int64_t n = (low + high) / 2;
    if (ended(run_child(resource, Refused::kOne, n, scenario), kNeverRefused))
      high = n;
    else
      low = n;
  }
  return low;
}

// Refuses only request n, and then also every request that exceeds what the
// process has at request n. Does this for about `most` evenly spaced n, or for
// all n with MPC_LONG.
inline void refuse_each(Resource resource, int64_t most,
                        const Scenario& scenario) {
  if (std::getenv("MPC_LONG")) most = INT64_MAX;
  const int64_t requests = count_requests(resource, scenario);
  const int64_t stride = std::max<int64_t>(1, requests / most);
  EXPECT_GT(requests, 0);
  int64_t tried = 0, wrong = 0, restarts = 0;
  for (Refused which : {Refused::kOne, Refused::kGrowth})
    for (int64_t n = 1; n <= requests && wrong < 20; n += stride) {
      ++tried;
      const int status = run_child(resource, which, n, scenario);
      restarts += ended(status, kRestart);
      if (ended(status, kGood) || ended(status, kRestart)) continue;
      // If memory runs out earlier, there are fewer requests.
      if (which == Refused::kGrowth && ended(status, kNeverRefused)) continue;
      ++wrong;
      ADD_FAILURE() << name_of(resource) << ' ' << n
                    << (which == Refused::kGrowth ? " and later" : "")
                    << (WIFSIGNALED(status) ? ": signal " : ": exit status ")
                    << (WIFSIGNALED(status) ? WTERMSIG(status)
                                            : WEXITSTATUS(status));
    }
  std::printf(
      "%lld requests (%s): %lld refused, %lld of them until a restart\n",
      static_cast<long long>(requests), name_of(resource),
      static_cast<long long>(tried), static_cast<long long>(restarts));
  EXPECT_LE(restarts, 8 + tried / 50);
}

}  // namespace mpc::test

#endif  // MPC_TEST_RUNTIME_FAULTS_CHILDREN_H_
