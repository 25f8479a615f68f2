// Debian's oneDNN runs its parallel regions on libgomp, through six functions.
// For threads with a team they are implemented here; other threads, in a
// program that uses oneDNN itself, still get libgomp's.

#include <dnnl.h>

#include "kernels/cpu/dnnl/redirect.h"
#include "kernels/cpu/team/position.h"

namespace mpc::kernels {
namespace {

enum Call {
  kParallel,
  kBarrier,
  kMaxThreads,
  kNumThreads,
  kThreadNum,
  kInParallel,
  kNumCalls
};
extern Redirection calls[kNumCalls];

template <typename Function>
Function* before(Call call) {
  return reinterpret_cast<Function*>(calls[call].before);
}

void parallel_region(void (*body)(void*), void* data, unsigned threads,
                     unsigned flags) {
  if (here.team)
    here.team->run(threads > 0 ? static_cast<int>(threads) : here.limit, body,
                   data);
  else
    before<void(void (*)(void*), void*, unsigned, unsigned)>(kParallel)(
        body, data, threads, flags);
}

void barrier() {
  if (here.team)
    here.team->barrier();
  else
    before<void()>(kBarrier)();
}

int max_threads() {
  return here.team ? here.limit : before<int()>(kMaxThreads)();
}

int num_threads() {
  return here.team ? here.count : before<int()>(kNumThreads)();
}

int thread_num() {
  return here.team ? here.number : before<int()>(kThreadNum)();
}

int in_parallel() {
  return here.team ? here.in_parallel : before<int()>(kInParallel)();
}

Redirection calls[kNumCalls] = {
    redirection("GOMP_parallel", parallel_region),
    redirection("GOMP_barrier", barrier),
    redirection("omp_get_max_threads", max_threads),
    redirection("omp_get_num_threads", num_threads),
    redirection("omp_get_thread_num", thread_num),
    redirection("omp_in_parallel", in_parallel),
};

}  // namespace

bool dnnl_runs_on_teams() {
  // Done only once, because other sessions may be running.
  static const bool redirected =
      redirect_calls(dnnl_version(), calls, kNumCalls);
  return redirected;
}

}  // namespace mpc::kernels
