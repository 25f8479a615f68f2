// The threads that kernels run on: those of a session, or OpenMP's if there is
// no session.
//
// libgomp's threads spin for milliseconds when they wait, and a program cannot
// change that at run time. If other processes use the same cores, each wait
// costs a time slice, and training becomes slower by orders of magnitude.
// Threads of a team spin for microseconds, then sleep, and do not wait for
// threads that have not begun.

#ifndef MPC_KERNELS_CPU_TEAM_TEAM_H_
#define MPC_KERNELS_CPU_TEAM_TEAM_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

namespace mpc::kernels {

class Team {
 public:
  // Starts `size` - 1 threads: the caller of run() is the team's first thread.
  // Returns null, with the reason in `*error`, if the system cannot create
  // threads.
  static std::unique_ptr<Team> start(int size, std::string* error);
  // A team without threads: others join() it, each for a while.
  static std::unique_ptr<Team> borrow(int size);
  // Ends the threads. No region may be running.
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return size_; }
  // Whether each thread stays on the CPUs of one place or NUMA node.
  bool is_bound() const { return is_bound_; }

  // A child of fork() has a copy of the team without its threads; this starts
  // them again. Call it before TeamScope and join(). Returns false, with the
  // reason in `*error`, if the system cannot create threads.
  bool restart_after_fork(std::string* error);

  // Borrowed teams only. Lends the calling thread to the team, as thread
  // `number` (1 to size() - 1), until dismiss(). Regions may run before their
  // threads have joined, but a barrier waits for them.
  void join(int number);
  // Returns the threads: those that have joined and those that still will.
  // Each number must join exactly once between two calls. No region may be
  // running.
  void dismiss();

  // Runs a region: calls body(data) on `threads` threads (at least 1, at most
  // size()) at the same time, and returns when all are done. Each thread runs
  // one part; the caller also runs parts that no other thread has begun when
  // its own is done. Only one region may run at a time.
  void run(int threads, void (*body)(void*), void* data);
  // Inside a region: waits for all its threads.
  void barrier();

 private:
  struct Worker;
  struct Region;

  Team(int size, bool borrows);
  bool start_workers(std::string* error);
  void end_workers();
  static void* start_worker(void* worker);
  void work(Worker& worker);
  void run_part(int number);
  void run_untaken_parts(int workers);

  const int size_;
  const bool borrows_;
  bool is_bound_ = false;
  pid_t process_ = 0;  // The process that has the threads.
  int started_ = 0;
  std::unique_ptr<Worker[]> workers_;
  std::unique_ptr<Region> region_;
};

// Whether oneDNN's parallel regions run on teams; the first call sets that up.
// If they cannot, there should be no team, because its threads and OpenMP's
// would compete for cores.
bool dnnl_runs_on_teams();

// While in scope, parallel() and oneDNN's regions started by the calling thread
// run on the team. Null: on OpenMP's threads, as without a scope.
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

// While in scope, regions that oneDNN starts on the calling thread have this
// many threads. Costs two thread-local accesses if nothing changes.
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

// Runs body(part, parts) for each part, up to `threads` at once, on this thread
// and others, and returns when all are done. `parts` may be less than
// `threads`.
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

// Inside parallel(): waits for all parts. Must not be called if there is only
// one.
void parallel_barrier();

// The range of items of a part. Ranges are contiguous and equal, except that
// the first ones may be longer by one.
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
