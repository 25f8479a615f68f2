#include "python/runtime/src/steps/worker.h"

#include <utility>

namespace mpc::python {

//===----------------------------------------------------------------------===//
// AsyncStep
//===----------------------------------------------------------------------===//

AsyncStep::AsyncStep(mpc_session_t *session, std::vector<mpc_tensor_t> inputs)
    : session_(session), inputs_(std::move(inputs)) {
  info_.struct_size = sizeof(info_);
}

AsyncStep::~AsyncStep() { mpc_status_free(status_); }

void AsyncStep::run() {
  status_ = mpc_session_step(session_, inputs_.data(), inputs_.size(), &info_);
  const std::lock_guard<std::mutex> lock(mutex_);
  done_ = true;
  changed_.notify_all();
}

bool AsyncStep::wait(std::chrono::nanoseconds time) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return done_; });
}

//===----------------------------------------------------------------------===//
// Worker
//===----------------------------------------------------------------------===//

// The workers that compute. Never destroyed, because a process may end before
// they do.
struct Computing {
  std::mutex mutex;
  std::condition_variable changed;
  int count = 0;

  void add(int number) {
    const std::lock_guard<std::mutex> lock(mutex);
    count += number;
    changed.notify_all();
  }
};

static Computing &computing() {
  static auto *const all = new Computing();
  return *all;
}

void wait_for_steps() {
  Computing &all = computing();
  std::unique_lock<std::mutex> lock(all.mutex);
  all.changed.wait(lock, [&] { return all.count == 0; });
}

Worker::Worker() : thread_([this] { serve(); }) {}

Worker::~Worker() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Worker::start(std::shared_ptr<AsyncStep> step) {
  computing().add(1);
  const std::lock_guard<std::mutex> lock(mutex_);
  next_ = std::move(step);
  changed_.notify_all();
}

void Worker::serve() {
  for (;;) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return ends_ || next_; });
    if (!next_) return;
    const std::shared_ptr<AsyncStep> step = std::move(next_);
    lock.unlock();
    step->run();
    computing().add(-1);
  }
}

}  // namespace mpc::python
