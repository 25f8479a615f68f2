// The threads of a session on a host device.

#ifndef MPC_RUNTIME_SRC_DEVICE_THREADS_H_
#define MPC_RUNTIME_SRC_DEVICE_THREADS_H_

#include <cstdint>
#include <memory>

#include "kernels/cpu/team/team.h"
#include "mpc/session.h"

namespace mpc::runtime {

// Work of a session, which the closure `data` describes.
struct Work {
  template <typename Body>
  explicit Work(const Body& body)
      : run([](const void* data) {
          return (*static_cast<const Body*>(data))();
        }),
        data(&body) {}

  mpc_status_t (*run)(const void* data);
  const void* data;
};

// The threads of a session: a team of its own, one of threads that the program
// lends or, where oneDNN cannot use a team, OpenMP's.
class Threads {
 public:
  mpc_status_t start(int count, const mpc_thread_pool_t& pool);
  // Does the work on the calling thread; kernels use these threads.
  mpc_status_t run(const Work& work);
  int count() const { return count_; }
  // Whether each thread stays on one part of the machine.
  bool are_bound() const { return own_ && own_->is_bound(); }

 private:
  struct Loan;
  static void use_borrowed(void* loan, uint32_t number, uint32_t count);
  // Starts the team's threads, also again after fork().
  mpc_status_t start_own();
  mpc_status_t run_on(kernels::Team* team, const Work& work) const;

  int count_ = 1;
  mpc_thread_pool_t pool_ = {};
  std::unique_ptr<kernels::Team> own_, borrowed_;
};

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_THREADS_H_
