// mpc._runtime.Communicator: how sessions reach those of other processes.

#ifndef MPC_PYTHON_RUNTIME_SRC_RANKS_COMMUNICATOR_H_
#define MPC_PYTHON_RUNTIME_SRC_RANKS_COMMUNICATOR_H_

#include <nanobind/nanobind.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mpc/communicator.h"

namespace mpc::python {

namespace nb = nanobind;

// What sessions and trainers keep of a communicator. After close() its
// functions return errors.
class Ranks {
 public:
  // That of mpc_communicator_open, which this object closes.
  explicit Ranks(mpc_communicator_t *opened);
  // Functions of Python: they get a NumPy array and a list of offsets, which
  // count its elements, and `all_to_all` a second array for what it receives.
  // Arrays must not be used after the call.
  Ranks(uint32_t rank, uint32_t size, bool any_thread,
        nb::object reduce_scatter, nb::object all_gather, nb::object all_to_all,
        nb::object abort);
  Ranks(const Ranks &) = delete;
  ~Ranks();

  // For sessions. Its functions must be called without the GIL.
  const mpc_communicator_t &functions() const { return functions_; }
  // Whether step_async may call it.
  bool any_thread() const { return any_thread_; }
  bool is_closed() const { return is_closed_; }
  pid_t process() const { return process_; }

  // Raises an error if it is closed, or belongs to another process.
  void require_open() const;
  // Waits for a call of a function. Releases the GIL.
  void close();

  // The exception for a status, whose cause is that of a function of Python.
  nb::object make_error(mpc_code_t code, const std::string &message) const;

 private:
  struct Calls;

  void describe(uint32_t rank, uint32_t size);
  // Calls the function of Python with an array on `data` and, unless it is
  // null, one on `received`.
  mpc_status_t call_python(const nb::object &function, void *data,
                           mpc_dtype_t dtype, const uint64_t *offsets,
                           void *received = nullptr);

  const pid_t process_ = getpid();
  mpc_communicator_t functions_ = {};
  bool any_thread_;
  std::atomic<bool> is_closed_{false};
  std::mutex mutex_;  // Is held in calls, in which others may get the GIL.
  mpc_communicator_t *opened_ = nullptr;
  // Null if it is opened.
  nb::object reduce_scatter_, all_gather_, all_to_all_, abort_;
  nb::object error_;  // The last exception of these.
};

// Raises and frees `status` unless it is NULL. `ranks` may be null.
void check(mpc_status_t status, const std::shared_ptr<Ranks> &ranks);

class Communicator {
 public:
  // All ranks that a launcher has started.
  explicit Communicator(uint32_t timeout_seconds);
  Communicator(uint32_t rank, uint32_t size, bool any_thread,
               nb::object reduce_scatter, nb::object all_gather,
               nb::object all_to_all, nb::object abort);

  const std::shared_ptr<Ranks> &ranks() const { return ranks_; }
  uint32_t rank() const { return ranks_->functions().rank; }
  uint32_t size() const { return ranks_->functions().size; }

  // The bytes, or the numbers, of all ranks, in their order.
  nb::list gather(const nb::bytes &own) const;
  nb::list gather_number(uint64_t own) const;
  void abort(const std::string &reason) const;

 private:
  std::vector<uint64_t> gather_numbers(uint64_t own) const;
  void all_gather(void *data, const std::vector<uint64_t> &offsets) const;

  std::shared_ptr<Ranks> ranks_;
};

void bind_communicator(nb::module_ &module);

}  // namespace mpc::python

#endif  // MPC_PYTHON_RUNTIME_SRC_RANKS_COMMUNICATOR_H_
