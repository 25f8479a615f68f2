// The threads that kernels run on: a session's own, or OpenMP's where there is
// no session.
//
// libgomp's threads wait in a loop for milliseconds, which no program can
// change once it runs. Beside other work on the same cores each wait then costs
// a time slice, and training becomes slower by orders of magnitude. Threads of
// a team do so for microseconds, then sleep, and do not wait for those that
// have not begun.

#ifndef MPC_KERNELS_CPU_TEAM_TEAM_H_
#define MPC_KERNELS_CPU_TEAM_TEAM_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

namespace mpc::kernels {

class Team {
 public:
  // Starts `size` - 1 threads: the caller of run() is the team's first. Null,
  // and why in `*error`, if the system has none to give.
  static std::unique_ptr<Team> start(int size, std::string* error);
  // Ends them. No region may be running.
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return size_; }

  // A child of fork() has a copy of the team without its threads: starts them
  // again there. Call it before TeamScope. False and why if the system has none
  // to give.
  bool survive_fork(std::string* error);

  // Runs body(data) `threads` times at once, at least once and at most size()
  // times, and returns when all are done: a region; each thread runs a
  // part, or this one what others have not begun when it is done with its own.
  // One region at a time.
  void run(int threads, void (*body)(void*), void* data);
  // Inside a region: waits for all its threads.
  void barrier();

 private:
  struct Worker;
  struct Region;

  explicit Team(int size);
  bool start_workers(std::string* error);
  void end_workers();
  static void* start_worker(void* worker);
  void work(Worker& worker);
  void run_part(int number);
  void run_left_over_parts(int workers);

  const int size_;
  pid_t process_ = 0;  // Whose threads they are.
  int started_ = 0;
  std::unique_ptr<Worker[]> workers_;
  std::unique_ptr<Region> region_;
};

// Whether oneDNN's parallel regions run on teams; asks for it the first time.
// If they cannot, there should be no team: its threads and OpenMP's would be in
// each other's way.
bool dnnl_runs_on_teams();

// While in scope, what the calling thread starts runs on the team: parallel()
// and oneDNN's regions. Null: on OpenMP's threads, as without a scope.
class TeamScope {
 public:
  explicit TeamScope(Team* team);
  ~TeamScope();
  TeamScope(const TeamScope&) = delete;
  TeamScope& operator=(const TeamScope&) = delete;

 private:
  Team* const before_;
  const int limit_before_;
};

// While in scope, regions that oneDNN starts on the calling thread have so many
// threads. Two thread-local accesses where nothing changes.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  const int before_;
  const bool changed_;
};

// See parallel().
void run_parallel(int threads,
                  void (*call)(const void* body, int part, int parts),
                  const void* body);

// Runs body(part, parts) for each part, as many as `threads` at once, on this
// thread and others, and returns when all are done. `parts` may be fewer than
// asked for.
template <typename Body>
void parallel(int threads, const Body& body) {
  if (threads <= 1) {
    body(0, 1);
    return;
  }
  run_parallel(
      threads,
      [](const void* erased, int part, int parts) {
        (*static_cast<const Body*>(erased))(part, parts);
      },
      &body);
}

// Inside parallel(): waits for all parts. Not where there is one only.
void parallel_barrier();

// The items of a part: equal contiguous ranges, the first ones one longer.
struct Range {
  int64_t begin, end;
};
inline Range share(int64_t items, int part, int parts) {
  const int64_t size = items / parts, longer = items % parts;
  const int64_t begin = part * size + (part < longer ? part : longer);
  return {begin, begin + size + (part < longer ? 1 : 0)};
}

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CPU_TEAM_TEAM_H_
