#include "python/runtime/src/turn.h"

#include <chrono>

namespace mpc::python {

void wait_without_gil(AsyncStep &step, double seconds) {
  {
    nb::gil_scoped_release unlocked;
    step.wait(std::chrono::nanoseconds(static_cast<int64_t>(1e9 * seconds)));
  }
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

Turns::~Turns() {
  // A forked process has no thread to end, and must not wait for one.
  if (getpid() != process) worker_.release();
}

void Turns::require_process(const std::string &what) const {
  if (getpid() != process)
    raise(MPC_INVALID_ARGUMENT,
          "the " + what + " belongs to process " + std::to_string(process) +
              " and cannot be used in a forked one; create a " + what +
              " there");
}

void Turns::finish_step() {
  // Another thread may start the next step while this one waits.
  for (;;) {
    const std::shared_ptr<AsyncStep> step = step_;
    if (!step || step->is_done()) return;
    wait_without_gil(*step, kSignalSeconds);
  }
}

void Turns::start(const std::shared_ptr<AsyncStep> &step) {
  if (!worker_) worker_ = std::make_unique<Worker>();
  step_ = step;
  worker_->start(step);
}

Turn::Turn(Turns &turns, const std::string &what) : turns_(turns) {
  turns.require_process(what);
  turns.finish_step();
  if (turns.busy.test_and_set(std::memory_order_acquire))
    raise(MPC_INVALID_ARGUMENT,
          "the " + what +
              " is in use by another thread; let threads take turns, or create "
              "a " +
              what + " for each");
}

}  // namespace mpc::python
