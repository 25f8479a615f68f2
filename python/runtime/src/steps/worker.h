// A thread that computes steps while Python does other work.

#ifndef MPC_PYTHON_RUNTIME_SRC_STEPS_WORKER_H_
#define MPC_PYTHON_RUNTIME_SRC_STEPS_WORKER_H_

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "mpc/session.h"

namespace mpc::python {

// A step of a session. Its owner keeps the session and the memory of the inputs
// in place until it is done.
class AsyncStep {
 public:
  AsyncStep(mpc_session_t *session, std::vector<mpc_tensor_t> inputs);
  AsyncStep(const AsyncStep &) = delete;
  ~AsyncStep();

  // Computes the step. Does not need the GIL.
  void run();

  // Waits until the step is done, but at most so long. Returns whether it is.
  // Does not need the GIL; a caller who has it should release it.
  bool wait(std::chrono::nanoseconds time);
  bool is_done() { return wait(std::chrono::nanoseconds(0)); }

  // When it is done: what mpc_session_step reported and returned.
  const mpc_step_info_t &info() const { return info_; }
  mpc_status_t status() const { return status_; }

 private:
  mpc_session_t *const session_;
  const std::vector<mpc_tensor_t> inputs_;
  mpc_step_info_t info_ = {};
  mpc_status_t status_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
};

// Waits for all steps that threads compute; for the end of the process.
void wait_for_steps();

// Runs one step at a time in a thread of its own, which keeps the threads that
// libraries make for it.
class Worker {
 public:
  Worker();
  Worker(const Worker &) = delete;
  // Waits for the step.
  ~Worker();

  // The step before it must be done.
  void start(std::shared_ptr<AsyncStep> step);

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<AsyncStep> next_;
  bool ends_ = false;
  std::thread thread_;  // Last, because it uses the others.
};

}  // namespace mpc::python

#endif  // MPC_PYTHON_RUNTIME_SRC_STEPS_WORKER_H_
