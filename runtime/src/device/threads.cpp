#include "runtime/src/device/threads.h"

#include <string>

#include "runtime/src/base/guard.h"
#include "runtime/src/device/default_floats.h"

namespace mpc::runtime {

// Work for which the program was asked to lend threads.
struct Threads::Loan {
  Threads& threads;
  const Work& work;
  mpc_status_t status = nullptr;
  bool done = false;
};

mpc_status_t Threads::start(int count, const mpc_thread_pool_t& pool) {
  count_ = count;
  if (!kernels::dnnl_runs_on_teams()) return nullptr;
  if (!pool.run || count == 1) return start_own();
  pool_ = pool;
  borrowed_ = kernels::Team::borrow(count);
  return nullptr;
}

mpc_status_t Threads::start_own() {
  std::string why;
  if (!own_) own_ = kernels::Team::start(count_, &why);
  if (own_ && own_->restart_after_fork(&why)) return nullptr;
  return mpc_status_make(MPC_OUT_OF_MEMORY,
                         "a session on %d threads: %s; use fewer threads",
                         count_, why.c_str());
}

mpc_status_t Threads::run_on(kernels::Team* team, const Work& work) const {
  const DefaultFloats floats;
  const kernels::TeamScope scope(team);
  const kernels::ThreadScope threads(count_);
  return work.run(work.data);
}

mpc_status_t Threads::run(const Work& work) {
  if (!borrowed_) {
    if (own_) MPC_RETURN_IF_ERROR(start_own());
    return run_on(own_.get(), work);
  }
  (void)borrowed_->restart_after_fork(nullptr);
  Loan loan = {*this, work};
  pool_.run(pool_.user, static_cast<uint32_t>(count_), use_borrowed, &loan);
  if (loan.done) return loan.status;
  return mpc_status_make(MPC_INVALID_ARGUMENT,
                         "the thread pool returned without having called its "
                         "function with number 0");
}

// The program may lend fewer threads than kernels wait for at a barrier, for
// example inside a parallel region of its own: the team's own threads then do
// the work, with the same parts, and stay for the next time.
void Threads::use_borrowed(void* data, uint32_t number, uint32_t count) {
  Loan& loan = *static_cast<Loan*>(data);
  Threads& self = loan.threads;
  const bool enough = count >= static_cast<uint32_t>(self.count_);
  if (number > 0) {
    const DefaultFloats floats;
    if (enough && number < static_cast<uint32_t>(self.count_))
      self.borrowed_->join(static_cast<int>(number));
    return;
  }
  loan.status = guard([&] {
    if (!enough) MPC_RETURN_IF_ERROR(self.start_own());
    return self.run_on((enough ? self.borrowed_ : self.own_).get(), loan.work);
  });
  if (enough) self.borrowed_->dismiss();
  loan.done = true;
}

}  // namespace mpc::runtime
