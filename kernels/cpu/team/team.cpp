#include "kernels/cpu/team/team.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/cpu/team/futex_word.h"
#include "kernels/cpu/team/numa.h"
#include "kernels/cpu/team/position.h"

namespace mpc::kernels {

thread_local Position here;

namespace {

// Long enough for the serial work between two regions of a step, short compared
// with a time slice, which is milliseconds.
constexpr std::chrono::microseconds kSpin(50);

int available_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return CPU_COUNT(&set);
}

// The CPUs to which OpenMP would bind its threads (OMP_PROC_BIND, OMP_PLACES).
// A temporary thread queries them, so that OpenMP's threads end with it.
struct Places {
  std::vector<cpu_set_t>
      sets;  // CPUs of each thread; empty: threads are not bound.
  int threads;
};

void* look_up_places(void* data) {
  Places& places = *static_cast<Places*>(data);
#pragma omp parallel num_threads(places.threads)
  {
    const size_t number = static_cast<size_t>(omp_get_thread_num());
    sched_getaffinity(0, sizeof(cpu_set_t), &places.sets[number]);
  }
  return nullptr;
}

std::vector<cpu_set_t> openmp_places(int threads) {
  Places places = {std::vector<cpu_set_t>(threads), threads};
  for (cpu_set_t& set : places.sets) CPU_ZERO(&set);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, look_up_places, &places) != 0) return {};
  pthread_join(thread, nullptr);
  return std::move(places.sets);
}

// Without a choice for OpenMP, threads are spread over the NUMA nodes on which
// the caller may run, and stay on theirs.
std::vector<cpu_set_t> find_places(int threads) {
  if (omp_get_proc_bind() != omp_proc_bind_false) return openmp_places(threads);
  cpu_set_t allowed;
  if (std::getenv("OMP_PROC_BIND") ||
      sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return {};
  return places_on(numa_nodes(allowed), threads);
}

// Threads inherit the mask of blocked signals. Signals sent to the process must
// be handled by the program's own threads; only signals that a thread itself
// causes stay unblocked.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    for (int caused :
         {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGPROF, SIGSEGV, SIGSYS, SIGTRAP})
      sigdelset(&all, caused);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

// One cache line per worker, so that waiting for work does not disturb others.
struct alignas(64) Team::Worker {
  // Odd while there is a part that no thread has taken. The thread that makes
  // it even, the worker or the one that started the region, runs the part. Only
  // that thread may access the region, which is not guaranteed to exist before.
  FutexWord ticket;
  Team* team = nullptr;
  int number = 0;
  pthread_t thread;

  bool take() {
    uint32_t value = ticket.value.load(std::memory_order_relaxed);
    return value % 2 == 1 && ticket.value.compare_exchange_strong(
                                 value, value + 1, std::memory_order_acq_rel);
  }
};

struct Team::Region {
  void (*body)(void*) = nullptr;  // Null: the worker ends.
  void* data = nullptr;
  int count = 1, limit = 1;
  FutexWord::Duration spin{};
  alignas(64) FutexWord running;  // Number of unfinished parts of workers.
  alignas(64) std::atomic<int> arrived{0};
  FutexWord barriers;  // Number of barriers passed.
};

Team::Team(int size, bool borrows) : size_(size), borrows_(borrows) {}

Team::~Team() {
  // A child of fork() has no workers to end.
  if (process_ == getpid()) end_workers();
}

std::unique_ptr<Team> Team::start(int size, std::string* error) {
  std::unique_ptr<Team> team(new Team(size, false));
  if (!team->start_workers(error)) return nullptr;
  return team;
}

std::unique_ptr<Team> Team::borrow(int size) {
  std::unique_ptr<Team> team(new Team(size, true));
  (void)team->start_workers(nullptr);
  return team;
}

bool Team::restart_after_fork(std::string* error) {
  return process_ == getpid() || start_workers(error);
}

bool Team::start_workers(std::string* error) {
  started_ = 0;  // fork() does not copy other threads.
  region_ = std::make_unique<Region>();
  // With more threads than CPUs, spinning threads would keep others from
  // running.
  if (size_ <= available_cpus()) region_->spin = kSpin;
  workers_ = std::make_unique<Worker[]>(size_ - 1);
  process_ = getpid();
  for (int i = 0; i < size_ - 1; ++i) workers_[i].number = i + 1;
  if (borrows_) return true;
  const std::vector<cpu_set_t> places = find_places(size_);
  is_bound_ = !places.empty();
  const BlockedSignals blocked;
  for (int i = 0; i < size_ - 1; ++i) {
    Worker& worker = workers_[i];
    worker.team = this;
    const int failure =
        pthread_create(&worker.thread, nullptr, start_worker, &worker);
    if (failure != 0) {
      *error = "cannot start a thread: ";
      *error += std::strerror(failure);
      end_workers();
      return false;
    }
    ++started_;
    if (!places.empty() && CPU_COUNT(&places[i + 1]) > 0)
      pthread_setaffinity_np(worker.thread, sizeof(cpu_set_t), &places[i + 1]);
  }
  return true;
}

void Team::end_workers() {
  if (started_ == 0) return;
  dismiss();
  for (int i = 0; i < started_; ++i) pthread_join(workers_[i].thread, nullptr);
  started_ = 0;
}

void* Team::start_worker(void* data) {
  Worker& worker = *static_cast<Worker*>(data);
  pthread_setname_np(pthread_self(), "mpc-worker");
#if defined(__SSE2__)
  _mm_setcsr(0x1f80);  // The default, not the program's modes.
#endif
  worker.team->work(worker);
  return nullptr;
}

void Team::join(int number) {
  const Position before = here;
  work(workers_[number - 1]);
  here = before;
}

void Team::dismiss() {
  region_->body = nullptr;
  for (int i = 0; i < size_ - 1; ++i) {
    workers_[i].ticket.value.fetch_add(1, std::memory_order_seq_cst);
    workers_[i].ticket.wake();
  }
}

void Team::work(Worker& worker) {
  Region& region = *region_;
  for (;;) {
    worker.ticket.wait(region.spin,
                       [](uint32_t value) { return value % 2 == 1; });
    if (!worker.take()) continue;
    if (!region.body) return;
    run_part(worker.number);
    if (region.running.value.fetch_sub(1, std::memory_order_seq_cst) == 1)
      region.running.wake();
  }
}

void Team::run_part(int number) {
  const Region& region = *region_;
  here = {this, region.limit, number, region.count, true};
  region.body(region.data);
}

// A thread that is preempted or not awake yet has not taken its part. Running
// the part here is faster than waiting for that thread. Barriers inside a
// region cannot deadlock: the caller's own part ends only after all parts that
// it waits for at a barrier have been taken, each by its own thread.
void Team::run_untaken_parts(int workers) {
  for (int i = 0; i < workers; ++i)
    if (workers_[i].take()) {
      run_part(workers_[i].number);
      region_->running.value.fetch_sub(1, std::memory_order_relaxed);
    }
}

void Team::run(int threads, void (*body)(void*), void* data) {
  const Position before = here;
  threads = std::min(threads, size_);
  if (threads <= 1 || here.in_parallel) {
    here.number = 0;
    here.count = 1;
    body(data);
    here = before;
    return;
  }
  Region& region = *region_;
  region.body = body;
  region.data = data;
  region.count = threads;
  region.limit = here.limit;
  const int workers = threads - 1;
  region.running.value.store(static_cast<uint32_t>(workers),
                             std::memory_order_relaxed);
  // Store all tickets before the fence, so that their cache misses overlap.
  for (int i = 0; i < workers; ++i) {
    std::atomic<uint32_t>& ticket = workers_[i].ticket.value;
    ticket.store(ticket.load(std::memory_order_relaxed) + 1,
                 std::memory_order_release);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (int i = 0; i < workers; ++i) workers_[i].ticket.wake();
  run_part(0);
  run_untaken_parts(workers);
  region.running.wait(region.spin, [](uint32_t value) { return value == 0; });
  here = before;
}

void Team::barrier() {
  if (here.count <= 1) return;
  Region& region = *region_;
  const uint32_t passed = region.barriers.value.load(std::memory_order_acquire);
  if (region.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 < here.count) {
    region.barriers.wait(region.spin,
                         [&](uint32_t value) { return value != passed; });
    return;
  }
  region.arrived.store(0, std::memory_order_relaxed);
  region.barriers.value.store(passed + 1, std::memory_order_seq_cst);
  region.barriers.wake();
}

TeamScope::TeamScope(Team* team)
    : before_(here.team), limit_before_(here.limit) {
  here.team = team;
  here.limit = team ? team->size() : 1;
}

TeamScope::~TeamScope() {
  here.team = before_;
  here.limit = limit_before_;
}

ThreadScope::ThreadScope(int threads)
    : before_(here.team ? here.limit : omp_get_max_threads()),
      changed_(threads != before_) {
  if (!changed_) return;
  if (here.team)
    here.limit = threads;
  else
    omp_set_num_threads(threads);
}

ThreadScope::~ThreadScope() {
  if (!changed_) return;
  if (here.team)
    here.limit = before_;
  else
    omp_set_num_threads(before_);
}

namespace {

struct Job {
  void (*call)(const void* body, int part, int parts);
  const void* body;
};

void run_job(void* data) {
  const Job& job = *static_cast<const Job*>(data);
  job.call(job.body, here.number, here.count);
}

}  // namespace

void run_parallel(int threads,
                  void (*call)(const void* body, int part, int parts),
                  const void* body) {
  if (here.team) {
    Job job = {call, body};
    here.team->run(threads, run_job, &job);
    return;
  }
#pragma omp parallel num_threads(threads)
  call(body, omp_get_thread_num(), omp_get_num_threads());
}

void parallel_barrier() {
  if (here.team) {
    here.team->barrier();
    return;
  }
#pragma omp barrier
}

}  // namespace mpc::kernels
