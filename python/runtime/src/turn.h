// The right to use an object of the C API, which one thread at a time has.

#ifndef MPC_PYTHON_RUNTIME_SRC_TURN_H_
#define MPC_PYTHON_RUNTIME_SRC_TURN_H_

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>

#include "python/runtime/src/errors.h"
#include "python/runtime/src/steps/worker.h"

namespace mpc::python {

// How often a thread that waits looks for signals, such as a KeyboardInterrupt.
constexpr double kSignalSeconds = 0.05;

// Waits for a step without the GIL. Raises what a signal handler raises.
void wait_without_gil(AsyncStep &step, double seconds);

// Shared by the objects that use the same session.
class Turns {
 public:
  ~Turns();

  // Raises an error in a forked process, where threads do not survive.
  void require_process(const std::string &what) const;
  // Waits for the step that is in flight, if there is one.
  void finish_step();
  // Computes a step in the background; the step before it must be done.
  void start(const std::shared_ptr<AsyncStep> &step);

  const pid_t process = getpid();
  std::atomic_flag busy = ATOMIC_FLAG_INIT;

 private:
  std::unique_ptr<Worker> worker_;   // Made for the first step.
  std::shared_ptr<AsyncStep> step_;  // The last one.
};

// Holds the right as long as it exists. `what` names the object in errors.
class Turn {
 public:
  Turn(Turns &turns, const std::string &what);
  ~Turn() { turns_.busy.clear(std::memory_order_release); }
  Turn(const Turn &) = delete;

 private:
  Turns &turns_;
};

}  // namespace mpc::python

#endif  // MPC_PYTHON_RUNTIME_SRC_TURN_H_
