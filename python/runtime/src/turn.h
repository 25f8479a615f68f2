// The right to use an object of the C API, which one thread at a time has.

#ifndef MPC_PYTHON_RUNTIME_SRC_TURN_H_
#define MPC_PYTHON_RUNTIME_SRC_TURN_H_

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "python/runtime/src/errors.h"

namespace mpc::python {

// Shared by the objects that use the same session.
struct Turns {
  const pid_t process = getpid();  // Threads do not survive a fork.
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
};

// Holds the right as long as it exists. `what` names the object in errors.
class Turn {
 public:
  Turn(Turns &turns, const std::string &what) : turns_(turns) {
    if (getpid() != turns.process)
      raise(MPC_INVALID_ARGUMENT,
            "the " + what + " belongs to process " +
                std::to_string(turns.process) +
                " and cannot be used in a forked one; create a " + what +
                " there");
    if (turns.busy.test_and_set(std::memory_order_acquire))
      raise(MPC_INVALID_ARGUMENT,
            "the " + what +
                " is in use by another thread; let threads take turns, or "
                "create a " +
                what + " for each");
  }
  ~Turn() { turns_.busy.clear(std::memory_order_release); }
  Turn(const Turn &) = delete;

 private:
  Turns &turns_;
};

}  // namespace mpc::python

#endif  // MPC_PYTHON_RUNTIME_SRC_TURN_H_
